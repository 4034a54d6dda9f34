//! The status and readiness of a pod.
//!
//! The printed status is derived from the containers: from the first init container that has not
//! completed, otherwise from the regular containers.

use serde_json::Value;
use watchkeeper_core::Timestamp;
use watchkeeper_wire::json_path::at;

use crate::value::{int, list, text, text_or_empty, timestamp};

/// The printed state of a pod.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pod {
    /// The number of ready containers.
    pub(crate) ready: usize,
    /// The number of containers, including sidecars but no other init containers.
    pub(crate) total: usize,
    /// `Running`, `CrashLoopBackOff`, `Init:0/2`.
    pub(crate) status: String,
    pub(crate) restarts: Restarts,
}

/// The number of restarts, and the time of the last termination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Restarts {
    pub(crate) count: i64,
    pub(crate) last: Option<Timestamp>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(int(container, "restartCount"));
        let ended = at(container, "lastState.terminated.finishedAt").and_then(timestamp);
        self.last = self.last.max(ended);
    }
}

/// The state of the init containers.
struct Init {
    /// The status while the pod waits for them; `None` once all have completed or are running sidecars.
    waits: Option<String>,
    restarts: Restarts,
    /// Restarts of sidecars.
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
            status: reason_or_phase(pod).to_owned(),
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

    /// Processes the regular containers. The first one determines the status.
    fn containers(&mut self, pod: &Value) {
        let mut runs = false;
        let mut failure = None;
        for container in list(pod, "status.containerStatuses").iter().rev() {
            self.restarts.add(container);
            let waiting = text_or_empty(container, "state.waiting.reason");
            if !waiting.is_empty() {
                self.status = waiting.to_owned();
            } else if let Some(ended) = at(container, "state.terminated") {
                self.status = termination_reason(ended);
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
            // The last of several with the same name counts.
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
                Some(ended) => format!("Init:{}", termination_reason(ended)),
                None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
                None => format!("Init:{position}/{}", specs.len()),
            };
            read.waits = Some(waits);
            break;
        }
        read
    }
}

/// Returns the reason or phase of a pod.
fn reason_or_phase(pod: &Value) -> &str {
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

/// Returns the reason of a termination, or the signal or exit code.
fn termination_reason(ended: &Value) -> String {
    match (text_or_empty(ended, "reason"), int(ended, "signal")) {
        ("", 0) => format!("ExitCode:{}", int(ended, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// Returns whether an init container is a sidecar.
fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == Some("Always")
}

fn is_true(object: &Value, path: &str) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or_default()
}

/// Returns the status of the first condition of a type.
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

    fn print(status: &Value) -> (usize, usize, String, i64) {
        let spec = json!({
            "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
            "containers": [{"name": "a"}, {"name": "b"}],
        });
        let pod = Pod::read(&json!({"spec": spec, "status": status}));
        (pod.ready, pod.total, pod.status, pod.restarts.count)
    }

    fn expected(ready: usize, status: &str, restarts: i64) -> (usize, usize, String, i64) {
        (ready, 3, status.to_owned(), restarts)
    }

    #[test]
    fn a_pod_waits_for_its_init_containers() {
        let init = |state: Value| {
            json!({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "restartCount": 2, "state": state}]})
        };
        assert_eq!(print(&init(json!({"running": {}}))), expected(0, "Init:0/2", 2));
        assert_eq!(
            print(&init(json!({"waiting": {"reason": "PodInitializing"}}))),
            expected(0, "Init:0/2", 2)
        );
        assert_eq!(
            print(&init(json!({"waiting": {"reason": "CrashLoopBackOff"}}))),
            expected(0, "Init:CrashLoopBackOff", 2)
        );
        assert_eq!(print(&init(json!({"terminated": {"exitCode": 3}}))), expected(0, "Init:ExitCode:3", 2));
        assert_eq!(
            print(&init(json!({"terminated": {"exitCode": 3, "signal": 9}}))),
            expected(0, "Init:Signal:9", 2)
        );
        assert_eq!(print(&init(json!({"terminated": {"exitCode": 0}}))), expected(0, "Pending", 0));
    }

    #[test]
    fn sidecars_count_as_regular_containers() {
        let status = json!({"phase": "Running",
            "initContainerStatuses": [
                {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
                {"name": "s", "restartCount": 1, "started": true, "ready": true, "state": {"running": {}}}],
            "containerStatuses": [
                {"name": "a", "restartCount": 1, "ready": true, "state": {"running": {}}},
                {"name": "b", "ready": false, "state": {"running": {}}}]});
        assert_eq!(print(&status), expected(2, "Running", 2));
    }

    #[test]
    fn the_first_container_determines_the_status() {
        let status = json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
            {"name": "b", "state": {"terminated": {"reason": "Error", "exitCode": 1}}}]});
        assert_eq!(print(&status), expected(0, "CrashLoopBackOff", 0));
    }

    #[test]
    fn a_pod_with_a_completed_container_may_be_running() {
        let status = |b: Value, conditions: Value| {
            json!({"phase": "Running", "conditions": conditions,
            "containerStatuses": [
                {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}, b]})
        };
        let running = || json!({"name": "b", "ready": true, "state": {"running": {}}});
        let failed = json!({"name": "b", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}});
        assert_eq!(
            print(&status(running(), json!([{"type": "Ready", "status": "True"}]))),
            expected(1, "Running", 0)
        );
        assert_eq!(print(&status(running(), json!([]))), expected(1, "NotReady", 0));
        assert_eq!(print(&status(failed, json!([]))), expected(0, "OOMKilled", 0));
    }
}
