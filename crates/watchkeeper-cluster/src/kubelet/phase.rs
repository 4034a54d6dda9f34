//! Phase: how a pod does, in one word.

use super::container::{Container, Role, State};

/// The phase of a pod by its containers. One that is over had no time to come to anything else.
pub(super) fn phase(containers: &[Container], restart_policy: &str, is_over: bool) -> &'static str {
    let inits = containers.iter().filter(|it| it.role == Role::Init);
    let mut is_initialized = true;
    for init in inits {
        let has_failed = matches!(&init.state, State::Ended(ended) if ended.code != 0);
        if has_failed && (restart_policy == "Never" || is_over) {
            return "Failed";
        }
        is_initialized &= init.is_completed();
    }
    let mains: Vec<&Container> = containers.iter().filter(|it| it.role == Role::Main).collect();
    let count = |is_so: fn(&Container) -> bool| mains.iter().filter(|it| is_so(it)).count();
    let waiting = count(|it| matches!(it.state, State::Waiting { .. }) && it.last.is_none());
    let running = count(Container::is_running);
    let completed = count(|it| it.is_completed());
    if is_over && running == 0 {
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
        // One that comes again is on its way to do better.
        _ => "Running",
    }
}
