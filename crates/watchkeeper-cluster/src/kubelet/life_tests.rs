//! Lives on a clock that is moved by hand.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::life::{Life, Moment};
use super::view::{Pod, PodStatus};
use crate::kubelet::Script;
use crate::pace::Pace;

/// A life, and the time in seconds since it began.
struct Told {
    pod: Pod,
    life: Life,
    pace: Pace,
    begun: Instant,
    seconds: u64,
}

impl Told {
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
        Self { pod, life, pace: Pace::instant(), begun: Instant::now(), seconds: 0 }
    }

    /// What is said after so many seconds.
    fn at(&mut self, seconds: u64) -> String {
        self.seconds = seconds;
        let wall = Timestamp { seconds: seconds.try_into().unwrap(), nanos: 0 };
        let now = Moment { at: self.begun + Duration::from_secs(seconds), wall };
        self.life.advance(&self.pod, &self.pace, now);
        let status = self.life.status(&self.pod, [172, 18, 0, 2].into(), wall);
        let text = shown(&status);
        self.pod.status = status;
        text
    }

    /// When something is to happen next, in seconds.
    fn next(&self) -> Option<u64> {
        self.life.next().map(|next| next.saturating_duration_since(self.begun).as_secs())
    }
}

/// `Running ready: app running, prepare ended 0`.
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
    let mut told = Told::new(json!({}), &Script::default().exit_code(1).exit_after(Duration::from_secs(5)));
    assert_eq!(told.at(0), "Running ready: app running");
    assert_eq!((told.at(5), told.next()), ("Running: app ended 1".to_owned(), Some(6)));
    assert_eq!((told.at(6), told.next()), ("Running ready: app running x1".to_owned(), Some(11)));
    assert_eq!(told.at(11), "Running: app ended 1 x1");
    assert_eq!((told.at(12), told.next()), ("Running: app CrashLoopBackOff x1".to_owned(), Some(22)));
    assert_eq!(told.at(22), "Running ready: app running x2");
    assert_eq!(told.at(27), "Running: app ended 1 x2");
    assert_eq!((told.at(28), told.next()), ("Running: app CrashLoopBackOff x2".to_owned(), Some(48)));
    let waiting =
        told.pod.status.container_statuses[0].state["waiting"]["message"].as_str().unwrap().to_owned();
    assert_eq!(waiting, "back-off 20s restarting failed container=app pod=web_x(u)");
}

#[tokio::test]
async fn init_containers_go_one_by_one_and_sidecars_stay() {
    let spec = json!({
        "restartPolicy": "OnFailure",
        "initContainers": [
            {"name": "first", "image": "a"},
            {"name": "beside", "image": "b", "restartPolicy": "Always"},
            {"name": "second", "image": "c"},
        ],
    });
    let mut told = Told::new(spec, &Script::default().exit_after(Duration::from_secs(10)));
    told.pace.job = Duration::from_secs(2);
    let waiting = "PodInitializing";
    assert_eq!(
        told.at(0),
        format!("Pending: first running, beside {waiting}, second {waiting}, app {waiting}")
    );
    let message = told.pod.status.condition("Initialized").unwrap().message.clone();
    assert_eq!(message.as_deref(), Some("containers with incomplete status: [first beside second]"));
    assert_eq!(told.at(2), format!("Pending: first ended 0, beside running, second running, app {waiting}"));
    assert_eq!(told.at(4), "Running ready: first ended 0, beside running, second ended 0, app running");
    assert_eq!(told.at(14), "Succeeded: first ended 0, beside ended 0, second ended 0, app ended 0");
    assert_eq!((told.life.is_over(), told.next()), (true, None));
}

#[tokio::test]
async fn policies_decide_what_an_end_means() {
    for (policy, code, expected, is_over) in [
        ("Never", 0, "Succeeded: app ended 0", true),
        ("Never", 7, "Failed: app ended 7", true),
        ("OnFailure", 0, "Succeeded: app ended 0", true),
        ("OnFailure", 7, "Running: app ended 7", false),
        ("Always", 0, "Running: app ended 0", false),
    ] {
        let script = Script::default().exit_code(code).exit_after(Duration::from_secs(1));
        let mut told = Told::new(json!({"restartPolicy": policy}), &script);
        told.at(0);
        assert_eq!((told.at(1).as_str(), told.life.is_over()), (expected, is_over), "{policy} {code}");
    }
}

#[tokio::test]
async fn a_pull_that_fails_is_tried_ever_later_and_at_once_when_the_image_is_another() {
    let mut told = Told::new(json!({}), &Script::default());
    told.pod.spec.containers[0].image = "registry.invalid/app".to_owned();
    told.life = Life::new(&told.pod, None, Timestamp { seconds: 0, nanos: 0 });
    assert_eq!((told.at(0), told.next()), ("Pending: app ErrImagePull".to_owned(), Some(1)));
    assert_eq!((told.at(1), told.next()), ("Pending: app ImagePullBackOff".to_owned(), Some(11)));
    assert_eq!(told.at(11), "Pending: app ErrImagePull");
    assert_eq!((told.at(12), told.next()), ("Pending: app ImagePullBackOff".to_owned(), Some(32)));
    told.pod.spec.containers[0].image = "nginx".to_owned();
    assert_eq!(told.at(13), "Running ready: app running");
}

#[tokio::test]
async fn a_pod_ends_as_quickly_as_it_may_and_is_killed_when_its_time_is_over() {
    for (stop, grace, ends, expected) in [
        (3, 30, 3, "Succeeded: app ended 0"),
        (60, 30, 30, "Failed: app ended 137"),
        (60, 0, 0, "Failed: app ended 137"),
        (0, 30, 0, "Succeeded: app ended 0"),
    ] {
        let mut told = Told::new(json!({}), &Script::default().stop_after(Duration::from_secs(stop)));
        told.at(0);
        told.pod.metadata.deletion_timestamp = Some("soon".to_owned());
        told.pod.metadata.deletion_grace_period_seconds = Some(grace);
        if ends > 0 {
            assert_eq!((told.at(0), told.next()), ("Running ready: app running".to_owned(), Some(ends)));
        }
        assert_eq!((told.at(ends).as_str(), told.life.is_over()), (expected, true), "{stop} {grace}");
    }
}

#[tokio::test]
async fn a_life_is_picked_up_where_its_status_says_it_was() {
    let mut told = Told::new(json!({}), &Script::default());
    told.at(5);
    let before = told.pod.status.clone();
    told.life = Life::new(&told.pod, Some([10, 0, 0, 1].into()), Timestamp { seconds: 60, nanos: 0 });
    told.at(60);
    assert_eq!(told.pod.status, before);
}
