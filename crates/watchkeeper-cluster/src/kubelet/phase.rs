//! Phase of a pod.

use super::container::{Container, Role, State};

/// Returns the phase of a pod by the state of its containers. `is_finished` means that none of them will run
/// again.
pub(super) fn phase(containers: &[Container], restart_policy: &str, is_finished: bool) -> &'static str {
    let inits = containers.iter().filter(|it| it.role == Role::Init);
    let mut is_initialized = true;
    for init in inits {
        let has_failed = matches!(&init.state, State::Ended(ended) if ended.code != 0);
        if has_failed && (restart_policy == "Never" || is_finished) {
            return "Failed";
        }
        is_initialized &= init.is_completed();
    }
    let mains: Vec<&Container> = containers.iter().filter(|it| it.role == Role::Main).collect();
    let count = |is_so: fn(&Container) -> bool| mains.iter().filter(|it| is_so(it)).count();
    let waiting = count(|it| matches!(it.state, State::Waiting { .. }) && it.last.is_none());
    let running = count(Container::is_running);
    let completed = count(|it| it.is_completed());
    if is_finished && running == 0 {
        return if completed == mains.len() { "Succeeded" } else { "Failed" };
    }
    if !is_initialized || waiting > 0 {
        return "Pending";
    }
    if running > 0 {
        return "Running";
    }
    match restart_policy {
        "Always" => "Running",
        _ if completed == mains.len() => "Succeeded",
        "Never" => "Failed",
        // A failed container will be restarted.
        _ => "Running",
    }
}
