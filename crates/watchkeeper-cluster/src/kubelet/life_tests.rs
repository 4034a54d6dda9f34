//! Pod lifecycles on a simulated clock.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::life::{Life, Moment};
use super::view::{Pod, PodStatus};
use crate::kubelet::Script;
use crate::timings::Timings;

/// A pod, and the seconds since its start.
struct TestPod {
    pod: Pod,
    life: Life,
    timings: Timings,
    begun: Instant,
    seconds: u64,
}

impl TestPod {
    fn new(spec: Value, script: &Script) -> Self {
        let mut whole = json!({"restartPolicy": "Always", "containers": [{"name": "app", "image": "nginx"}]});
        let Value::Object(fields) = spec else { panic!("a spec is an object") };
        for (key, value) in fields {
            whole[key] = value;
        }
        let metadata =
            json!({"name": "web", "namespace": "x", "uid": "u", "annotations": script.annotations()});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": whole})).unwrap();
        let life = Life::new(&pod, Some([10, 0, 0, 1].into()), Timestamp { seconds: 0, nanos: 0 });
        Self { pod, life, timings: Timings::instant(), begun: Instant::now(), seconds: 0 }
    }

    /// Advances to a second, and returns the status in short form.
    fn at(&mut self, seconds: u64) -> String {
        self.seconds = seconds;
        let wall = Timestamp { seconds: seconds.try_into().unwrap(), nanos: 0 };
        let now = Moment { at: self.begun + Duration::from_secs(seconds), wall };
        self.life.advance(&self.pod, &self.timings, now);
        let status = self.life.status(&self.pod, [172, 18, 0, 2].into(), wall);
        let text = shown(&status);
        self.pod.status = status;
        text
    }

    /// Returns the second of the next transition.
    fn next(&self) -> Option<u64> {
        self.life.next().map(|next| next.saturating_duration_since(self.begun).as_secs())
    }
}

/// Formats a status as `Running ready: app running, prepare ended 0`.
fn shown(status: &PodStatus) -> String {
    let is_ready = status.condition("Ready").is_some_and(|ready| ready.status == "True");
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses);
    let one = |it: &super::view::ContainerStatus| {
        let (waiting, ended) = (&it.state["waiting"]["reason"], &it.state["terminated"]["exitCode"]);
        let state = match (waiting.as_str(), ended.as_i64()) {
            (Some(reason), _) => reason.to_owned(),
            (_, Some(code)) => format!("ended {code}"),
            _ => "running".to_owned(),
        };
        let restarts = if it.restart_count == 0 { String::new() } else { format!(" x{}", it.restart_count) };
        format!("{} {state}{restarts}", it.name)
    };
    let ready = if is_ready { " ready" } else { "" };
    format!("{}{ready}: {}", status.phase, containers.map(one).collect::<Vec<_>>().join(", "))
}

#[tokio::test]
async fn a_crash_loop_backs_off_from_the_second_crash_on() {
    let mut test =
        TestPod::new(json!({}), &Script::default().exit_code(1).exit_after(Duration::from_secs(5)));
    assert_eq!(test.at(0), "Running ready: app running");
    assert_eq!((test.at(5), test.next()), ("Running: app ended 1".to_owned(), Some(6)));
    assert_eq!((test.at(6), test.next()), ("Running ready: app running x1".to_owned(), Some(11)));
    assert_eq!(test.at(11), "Running: app ended 1 x1");
    assert_eq!((test.at(12), test.next()), ("Running: app CrashLoopBackOff x1".to_owned(), Some(22)));
    assert_eq!(test.at(22), "Running ready: app running x2");
    assert_eq!(test.at(27), "Running: app ended 1 x2");
    assert_eq!((test.at(28), test.next()), ("Running: app CrashLoopBackOff x2".to_owned(), Some(48)));
    let waiting =
        test.pod.status.container_statuses[0].state["waiting"]["message"].as_str().unwrap().to_owned();
    assert_eq!(waiting, "back-off 20s restarting failed container=app pod=web_x(u)");
}

#[tokio::test]
async fn init_containers_run_one_by_one_and_sidecars_stay() {
    let spec = json!({
        "restartPolicy": "OnFailure",
        "initContainers": [
            {"name": "first", "image": "a"},
            {"name": "beside", "image": "b", "restartPolicy": "Always"},
            {"name": "second", "image": "c"},
        ],
    });
    let mut test = TestPod::new(spec, &Script::default().exit_after(Duration::from_secs(10)));
    test.timings.job = Duration::from_secs(2);
    let waiting = "PodInitializing";
    assert_eq!(
        test.at(0),
        format!("Pending: first running, beside {waiting}, second {waiting}, app {waiting}")
    );
    let message = test.pod.status.condition("Initialized").unwrap().message.clone();
    assert_eq!(message.as_deref(), Some("containers with incomplete status: [first beside second]"));
    assert_eq!(test.at(2), format!("Pending: first ended 0, beside running, second running, app {waiting}"));
    assert_eq!(test.at(4), "Running ready: first ended 0, beside running, second ended 0, app running");
    assert_eq!(test.at(14), "Succeeded: first ended 0, beside ended 0, second ended 0, app ended 0");
    assert_eq!((test.life.is_finished(), test.next()), (true, None));
}

#[tokio::test]
async fn the_restart_policy_decides_the_phase_after_an_exit() {
    for (policy, code, expected, is_finished) in [
        ("Never", 0, "Succeeded: app ended 0", true),
        ("Never", 7, "Failed: app ended 7", true),
        ("OnFailure", 0, "Succeeded: app ended 0", true),
        ("OnFailure", 7, "Running: app ended 7", false),
        ("Always", 0, "Running: app ended 0", false),
    ] {
        let script = Script::default().exit_code(code).exit_after(Duration::from_secs(1));
        let mut test = TestPod::new(json!({"restartPolicy": policy}), &script);
        test.at(0);
        assert_eq!(
            (test.at(1).as_str(), test.life.is_finished()),
            (expected, is_finished),
            "{policy} {code}"
        );
    }
}

#[tokio::test]
async fn a_failed_pull_is_retried_with_backoff_and_at_once_when_the_image_changes() {
    let mut test = TestPod::new(json!({}), &Script::default());
    test.pod.spec.containers[0].image = "registry.invalid/app".to_owned();
    test.life = Life::new(&test.pod, None, Timestamp { seconds: 0, nanos: 0 });
    assert_eq!((test.at(0), test.next()), ("Pending: app ErrImagePull".to_owned(), Some(1)));
    assert_eq!((test.at(1), test.next()), ("Pending: app ImagePullBackOff".to_owned(), Some(11)));
    assert_eq!(test.at(11), "Pending: app ErrImagePull");
    assert_eq!((test.at(12), test.next()), ("Pending: app ImagePullBackOff".to_owned(), Some(32)));
    test.pod.spec.containers[0].image = "nginx".to_owned();
    assert_eq!(test.at(13), "Running ready: app running");
}

#[tokio::test]
async fn a_pod_stops_within_its_grace_period_or_is_killed() {
    for (stop, grace, ends, expected) in [
        (3, 30, 3, "Succeeded: app ended 0"),
        (60, 30, 30, "Failed: app ended 137"),
        (60, 0, 0, "Failed: app ended 137"),
        (0, 30, 0, "Succeeded: app ended 0"),
    ] {
        let mut test = TestPod::new(json!({}), &Script::default().stop_after(Duration::from_secs(stop)));
        test.at(0);
        test.pod.metadata.deletion_timestamp = Some("soon".to_owned());
        test.pod.metadata.deletion_grace_period_seconds = Some(grace);
        if ends > 0 {
            assert_eq!((test.at(0), test.next()), ("Running ready: app running".to_owned(), Some(ends)));
        }
        assert_eq!((test.at(ends).as_str(), test.life.is_finished()), (expected, true), "{stop} {grace}");
    }
}

#[tokio::test]
async fn a_pod_resumes_in_the_state_of_its_status() {
    let mut test = TestPod::new(json!({}), &Script::default());
    test.at(5);
    let before = test.pod.status.clone();
    test.life = Life::new(&test.pod, Some([10, 0, 0, 1].into()), Timestamp { seconds: 60, nanos: 0 });
    test.at(60);
    assert_eq!(test.pod.status, before);
}
