//! Pod: how far a pod has come, in one word and two numbers.
//!
//! A pod's phase says little, so what is printed is read from its containers: the first init
//! container that is not done, or else the last word of the ordinary ones.

use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::at;

use crate::value::{int, list, moment, text, text_or_empty};

/// What is printed of a pod.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pod {
    /// How many containers are ready.
    pub(crate) ready: usize,
    /// How many should be: init containers that go on running count, others do not.
    pub(crate) total: usize,
    /// `Running`, `CrashLoopBackOff`, `Init:0/2`.
    pub(crate) status: String,
    pub(crate) restarts: Restarts,
}

/// How often containers were restarted, and when the last of them had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Restarts {
    pub(crate) count: i64,
    pub(crate) last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(int(container, "restartCount"));
        let ended = at(container, "lastState.terminated.finishedAt").and_then(moment);
        self.last = self.last.max(ended);
    }
}

/// What the init containers have come to.
struct Init {
    /// Why the pod waits for them; `None` once all are done or running along.
    waits: Option<String>,
    restarts: Restarts,
    /// Of those that run along.
    sidecar_restarts: Restarts,
    ready_sidecars: usize,
}

impl Pod {
    pub(crate) fn read(pod: &Value) -> Self {
        let sidecars =
            list(pod, "spec.initContainers").iter().filter(|container| is_sidecar(container)).count();
        let init = Init::read(pod);
        let mut read = Self {
            ready: init.ready_sidecars,
            total: list(pod, "spec.containers").len() + sidecars,
            status: first_word(pod).to_owned(),
            restarts: init.restarts,
        };
        let is_initialized = init.waits.is_none() || condition(pod, "Initialized") == Some("True");
        if let Some(waits) = init.waits {
            read.status = waits;
        }
        if is_initialized {
            read.restarts = init.sidecar_restarts;
            read.containers(pod);
        }
        if at(pod, "metadata.deletionTimestamp").is_some() {
            if text(pod, "status.reason") == Some("NodeLost") {
                read.status = "Unknown".to_owned();
            } else if !matches!(text(pod, "status.phase"), Some("Failed" | "Succeeded")) {
                read.status = "Terminating".to_owned();
            }
        }
        read
    }

    /// Goes through the ordinary containers, the first having the last word.
    fn containers(&mut self, pod: &Value) {
        let mut runs = false;
        let mut failure = None;
        for container in list(pod, "status.containerStatuses").iter().rev() {
            self.restarts.add(container);
            let waiting = text_or_empty(container, "state.waiting.reason");
            if !waiting.is_empty() {
                self.status = waiting.to_owned();
            } else if let Some(ended) = at(container, "state.terminated") {
                self.status = how_it_ended(ended);
                if int(ended, "exitCode") != 0 {
                    failure = Some(self.status.clone());
                }
            } else if is_true(container, "ready") && at(container, "state.running").is_some() {
                runs = true;
                self.ready += 1;
            }
        }
        if self.status == "Completed" {
            self.status = match failure {
                _ if runs && has_ready_condition(pod) => "Running".to_owned(),
                Some(failure) => failure,
                None if runs => "NotReady".to_owned(),
                None => return,
            };
        }
    }
}

impl Init {
    fn read(pod: &Value) -> Self {
        let specs = list(pod, "spec.initContainers");
        let mut read = Self {
            waits: None,
            restarts: Restarts::default(),
            sidecar_restarts: Restarts::default(),
            ready_sidecars: 0,
        };
        for (position, container) in list(pod, "status.initContainerStatuses").iter().enumerate() {
            // If two have the same name, the last is meant.
            let spec = specs.iter().rfind(|spec| text(spec, "name") == text(container, "name"));
            let is_sidecar = spec.is_some_and(is_sidecar);
            read.restarts.add(container);
            if is_sidecar {
                read.sidecar_restarts.add(container);
            }
            let ended = at(container, "state.terminated");
            let waiting = text_or_empty(container, "state.waiting.reason");
            let waits = match ended {
                Some(ended) if int(ended, "exitCode") == 0 => continue,
                _ if is_sidecar && is_true(container, "started") => {
                    read.ready_sidecars += usize::from(is_true(container, "ready"));
                    continue;
                }
                Some(ended) => format!("Init:{}", how_it_ended(ended)),
                None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
                None => format!("Init:{position}/{}", specs.len()),
            };
            read.waits = Some(waits);
            break;
        }
        read
    }
}

/// What a pod says of itself.
fn first_word(pod: &Value) -> &str {
    let gated = |condition: &&Value| {
        text(condition, "type") == Some("PodScheduled")
            && text(condition, "reason") == Some("SchedulingGated")
    };
    if list(pod, "status.conditions").iter().any(|condition| gated(&condition)) {
        return "SchedulingGated";
    }
    match text_or_empty(pod, "status.reason") {
        "" => text_or_empty(pod, "status.phase"),
        reason => reason,
    }
}

/// Its reason, or else the signal or the exit code.
fn how_it_ended(ended: &Value) -> String {
    match (text_or_empty(ended, "reason"), int(ended, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(ended, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// An init container that goes on running beside the ordinary ones.
fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == Some("Always")
}

fn is_true(object: &Value, path: &str) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The status of the first condition of a type.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let conditions = list(object, "status.conditions");
    text(conditions.iter().find(|condition| text(condition, "type") == Some(name))?, "status")
}

fn has_ready_condition(pod: &Value) -> bool {
    list(pod, "status.conditions").iter().any(|condition| {
        text(condition, "type") == Some("Ready") && text(condition, "status") == Some("True")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(status: &Value) -> (usize, usize, String, i64) {
        let spec = json!({
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "a"}, {"name": "b"}],
        });
        let pod = Pod::read(&json!({"spec": spec, "status": status}));
        (pod.ready, pod.total, pod.status, pod.restarts.count)
    }

    fn tell(ready: usize, status: &str, restarts: i64) -> (usize, usize, String, i64) {
        (ready, 3, status.to_owned(), restarts)
    }

    #[test]
    fn a_pod_waits_for_its_init_containers() {
        let init = |state: Value| {
            json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "restartCount": 2, "state": state}]})
        };
        assert_eq!(told(&init(json!({"running": {}}))), tell(0, "Init:0/2", 2));
        assert_eq!(told(&init(json!({"waiting": {"reason": "PodInitializing"}}))), tell(0, "Init:0/2", 2));
        assert_eq!(
            told(&init(json!({"waiting": {"reason": "CrashLoopBackOff"}}))),
            tell(0, "Init:CrashLoopBackOff", 2)
        );
        assert_eq!(told(&init(json!({"terminated": {"exitCode": 3}}))), tell(0, "Init:ExitCode:3", 2));
        assert_eq!(
            told(&init(json!({"terminated": {"exitCode": 3, "signal": 9}}))),
            tell(0, "Init:Signal:9", 2)
        );
        assert_eq!(told(&init(json!({"terminated": {"exitCode": 0}}))), tell(0, "Pending", 0));
    }

    #[test]
    fn a_sidecar_is_ready_and_restarts_like_an_ordinary_container() {
        let status = json!({"phase": "Running",
            "initContainerStatuses": [
                {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
                {"name": "s", "restartCount": 1, "started": true, "ready": true, "state": {"running": {}}}],
            "containerStatuses": [
                {"name": "a", "restartCount": 1, "ready": true, "state": {"running": {}}},
                {"name": "b", "ready": false, "state": {"running": {}}}]});
        assert_eq!(told(&status), tell(2, "Running", 2));
    }

    #[test]
    fn the_first_container_has_the_last_word() {
        let status = json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
            {"name": "b", "state": {"terminated": {"reason": "Error", "exitCode": 1}}}]});
        assert_eq!(told(&status), tell(0, "CrashLoopBackOff", 0));
    }

    #[test]
    fn a_pod_with_a_completed_container_may_still_run() {
        let status = |b: Value, conditions: Value| {
            json!({"phase": "Running", "conditions": conditions,
            "containerStatuses": [
                {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}, b]})
        };
        let running = || json!({"name": "b", "ready": true, "state": {"running": {}}});
        let failed = json!({"name": "b", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}});
        assert_eq!(
            told(&status(running(), json!([{"type": "Ready", "status": "True"}]))),
            tell(1, "Running", 0)
        );
        assert_eq!(told(&status(running(), json!([]))), tell(1, "NotReady", 0));
        assert_eq!(told(&status(failed, json!([]))), tell(0, "OOMKilled", 0));
    }
}
