//! Conditions of a pod.

use tokio::time::Instant;
use watchkeeper_core::Timestamp;

use super::container::{Container, Role};
use super::view::{Pod, PodCondition};

/// Status, reason and message of a condition.
type Content = (bool, Option<&'static str>, Option<String>);

/// Returns the conditions of a pod in this phase.
pub(super) fn conditions(
    pod: &Pod,
    containers: &[Container],
    phase: &str,
    has_sandbox: bool,
    now: (Instant, Timestamp),
) -> Vec<PodCondition> {
    let ready_containers = containers_ready(containers, phase, now.0);
    let contents: [(&str, Content); 5] = [
        ("PodReadyToStartContainers", (has_sandbox, None, None)),
        ("Initialized", initialized(containers, phase)),
        ("Ready", ready(pod, &ready_containers)),
        ("ContainersReady", ready_containers),
        ("PodScheduled", (true, None, None)),
    ];
    let condition = |(kind, (is_true, reason, message)): (&str, Content)| {
        let status = if is_true { "True" } else { "False" };
        let before = pod.status.condition(kind).filter(|before| before.status == status);
        let since = before.and_then(|before| before.last_transition_time.clone());
        PodCondition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.map(str::to_owned),
            message,
            last_transition_time: since.or_else(|| Some(now.1.to_string())),
            observed_generation: Some(pod.metadata.generation).filter(|generation| *generation > 0),
        }
    };
    contents.map(condition).into()
}

fn initialized(containers: &[Container], phase: &str) -> Content {
    if phase == "Succeeded" {
        return (true, Some("PodCompleted"), None);
    }
    let has_started = containers.iter().any(|it| it.role == Role::Main && it.is_started());
    let incomplete = names(containers, |it| !it.lets_others_start());
    if has_started || incomplete.is_empty() {
        return (true, None, None);
    }
    let message = format!("containers with incomplete status: [{}]", incomplete.join(" "));
    (false, Some("ContainersNotInitialized"), Some(message))
}

fn containers_ready(containers: &[Container], phase: &str, now: Instant) -> Content {
    match phase {
        "Succeeded" => return (false, Some("PodCompleted"), None),
        "Failed" => return (false, Some("PodFailed"), None),
        _ => {}
    }
    let unready = names(containers, |it| it.role != Role::Init && !it.is_ready(now));
    if unready.is_empty() {
        return (true, None, None);
    }
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    (false, Some("ContainersNotReady"), Some(message))
}

/// Returns whether all containers are ready and all readiness gates are open.
fn ready(pod: &Pod, containers: &Content) -> Content {
    if !containers.0 {
        return containers.clone();
    }
    let mut messages = Vec::new();
    for gate in &pod.spec.readiness_gates {
        let kind = &gate.condition_type;
        match pod.status.condition(kind) {
            None => messages
                .push(format!("corresponding condition of pod readiness gate \"{kind}\" does not exist.")),
            Some(condition) if condition.status != "True" => messages.push(format!(
                "the status of pod readiness gate \"{kind}\" is not \"True\", but {}",
                condition.status
            )),
            Some(_) => {}
        }
    }
    if messages.is_empty() {
        (true, None, None)
    } else {
        (false, Some("ReadinessGatesNotReady"), Some(messages.join(", ")))
    }
}

fn names(containers: &[Container], is_so: impl Fn(&Container) -> bool) -> Vec<&str> {
    containers.iter().filter(|it| is_so(it)).map(|it| it.name.as_str()).collect()
}
