//! Status: what a deployment says of its replica sets, and whether it gets on.

use std::time::Duration;

use watchkeeper_core::Timestamp;

use super::bounds::Bounds;
use super::conditions::{self, AVAILABLE, NEW_AVAILABLE, PROGRESSING, REPLICA_FAILURE, TIMED_OUT, condition};
use crate::clock::{after, between};
use crate::view::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};

/// Time enough for a second to be over that was not when it was counted.
const SECOND: Duration = Duration::from_secs(1);

/// What is counted, and whether enough serve.
pub(super) fn counted(
    deployment: &Deployment,
    sets: &[ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> DeploymentStatus {
    let sum = |count: &dyn Fn(&ReplicaSet) -> i32| {
        sets.iter().fold(0, |sum: i32, set| sum.saturating_add(count(set)))
    };
    let available = sum(&|set| set.status.available_replicas);
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: sum(&|set| set.status.replicas),
        updated_replicas: new.map_or(0, |set| set.status.replicas),
        ready_replicas: sum(&|set| set.status.ready_replicas),
        available_replicas: available,
        unavailable_replicas: sum(&ReplicaSet::replicas).saturating_sub(available).max(0),
        terminating_replicas: ending(sets),
        conditions: deployment.status.conditions.clone(),
        collision_count: deployment.status.collision_count,
    };
    let (is_so, reason, message) = match i64::from(available) >= Bounds::of(deployment).least() {
        true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    conditions::set(&mut status.conditions, condition(AVAILABLE, is_so, reason, message.to_owned(), now));
    status
}

/// Those that are ending; `None` if a set that was looked at does not say.
fn ending(sets: &[ReplicaSet]) -> Option<i32> {
    sets.iter().try_fold(0, |sum: i32, set| match set.status.terminating_replicas {
        None if set.status.observed_generation == 0 => Some(sum),
        count => count.map(|count| sum.saturating_add(count)),
    })
}

/// What is counted during a rollout, and whether it gets on.
pub(super) fn rolled(
    deployment: &Deployment,
    sets: &[ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> DeploymentStatus {
    let mut status = counted(deployment, sets, new, now);
    let current = conditions::find(&deployment.status.conditions, PROGRESSING);
    if deployment.progress_deadline().is_none() {
        conditions::remove(&mut status.conditions, PROGRESSING);
    } else {
        // A rollout that was over does not begin again because a pod is lost.
        let was_over = status.replicas == status.updated_replicas
            && current.is_some_and(|condition| condition.reason == NEW_AVAILABLE);
        if !was_over {
            progress(deployment, &mut status, new, now);
        }
    }
    match failure(sets, new) {
        Some(failure) => conditions::set(&mut status.conditions, failure),
        None => conditions::remove(&mut status.conditions, REPLICA_FAILURE),
    }
    status
}

fn progress(
    deployment: &Deployment,
    status: &mut DeploymentStatus,
    new: Option<&ReplicaSet>,
    now: Timestamp,
) {
    let who = match new {
        Some(set) => format!("ReplicaSet {:?}", set.metadata.name),
        None => format!("Deployment {:?}", deployment.metadata.name),
    };
    let say = |is_so, reason, what| condition(PROGRESSING, is_so, reason, format!("{who} {what}"), now);
    if is_complete(deployment, status) {
        conditions::set(&mut status.conditions, say("True", NEW_AVAILABLE, "has successfully progressed."));
    } else if has_progressed(&deployment.status, status) {
        let mut progressing = say("True", "ReplicaSetUpdated", "is progressing.");
        // Said anew even if it was said before: the time of the last progress is what counts.
        let current = conditions::find(&deployment.status.conditions, PROGRESSING);
        if let Some(current) = current.filter(|current| current.status == "True") {
            progressing.last_transition_time.clone_from(&current.last_transition_time);
        }
        conditions::remove(&mut status.conditions, PROGRESSING);
        status.conditions.push(progressing);
    } else if has_timed_out(deployment, status, now) {
        conditions::set(&mut status.conditions, say("False", TIMED_OUT, "has timed out progressing."));
    }
}

/// Whether all pods are new ones, and serve.
pub(super) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = deployment.replicas();
    status.updated_replicas == wanted
        && status.replicas == wanted
        && status.available_replicas == wanted
        && status.observed_generation >= deployment.metadata.generation
}

fn has_progressed(before: &DeploymentStatus, now: &DeploymentStatus) -> bool {
    let old = |status: &DeploymentStatus| status.replicas - status.updated_replicas;
    now.updated_replicas > before.updated_replicas
        || old(now) < old(before)
        || now.ready_replicas > before.ready_replicas
        || now.available_replicas > before.available_replicas
}

fn has_timed_out(deployment: &Deployment, status: &DeploymentStatus, now: Timestamp) -> bool {
    let Some(progressing) = conditions::find(&status.conditions, PROGRESSING) else { return false };
    match progressing.reason.as_str() {
        NEW_AVAILABLE => false,
        TIMED_OUT => true,
        _ => deadline(deployment, progressing).is_some_and(|deadline| deadline < now),
    }
}

fn deadline(deployment: &Deployment, progressing: &DeploymentCondition) -> Option<Timestamp> {
    let since = progressing.last_update_time.as_deref()?.parse().ok()?;
    Some(after(since, deployment.progress_deadline()?))
}

/// When to look whether there was any progress, if nothing else happens.
pub(super) fn next_look(
    deployment: &Deployment,
    status: &DeploymentStatus,
    now: Timestamp,
) -> Option<Duration> {
    let progressing = conditions::find(&status.conditions, PROGRESSING)?;
    if is_complete(deployment, status) || [TIMED_OUT, NEW_AVAILABLE].contains(&progressing.reason.as_str()) {
        return None;
    }
    let deadline = deadline(deployment, progressing)?;
    Some(between(now, deadline).unwrap_or_default() + SECOND)
}

/// The failure of a replica set, of the new one first.
fn failure(sets: &[ReplicaSet], new: Option<&ReplicaSet>) -> Option<DeploymentCondition> {
    let of = |set: &ReplicaSet| {
        let failure = set.status.conditions.iter().find(|condition| condition.kind == REPLICA_FAILURE)?;
        Some(DeploymentCondition {
            kind: failure.kind.clone(),
            status: failure.status.clone(),
            last_update_time: failure.last_transition_time.clone(),
            last_transition_time: failure.last_transition_time.clone(),
            reason: failure.reason.clone(),
            message: failure.message.clone(),
        })
    };
    new.and_then(of).or_else(|| sets.iter().find_map(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn deployment(status: &Value) -> Deployment {
        let rolling = json!({"maxSurge": 1, "maxUnavailable": 1});
        let value = json!({
            "metadata": {"name": "web", "generation": 2},
            "spec": {"replicas": 3, "progressDeadlineSeconds": 600,
                     "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}},
            "status": status,
        });
        serde_json::from_value(value).unwrap()
    }

    fn set(name: &str, wanted: i32, replicas: i32, available: i32) -> ReplicaSet {
        let value = json!({
            "metadata": {"name": name},
            "spec": {"replicas": wanted},
            "status": {"replicas": replicas, "readyReplicas": available, "availableReplicas": available,
                       "terminatingReplicas": 1, "observedGeneration": 1},
        });
        serde_json::from_value(value).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn progressing(status: &str, reason: &str, when: &str) -> Value {
        json!({"type": "Progressing", "status": status, "reason": reason, "message": "",
               "lastUpdateTime": when, "lastTransitionTime": when})
    }

    /// The conditions in short.
    fn said(status: &DeploymentStatus) -> Vec<String> {
        let conditions = status.conditions.iter();
        conditions
            .map(|each| format!("{} {} {}: {}", each.kind, each.status, each.reason, each.message))
            .collect()
    }

    #[test]
    fn all_sets_are_counted() {
        let sets = [set("old", 2, 2, 2), set("new", 2, 2, 1)];
        let status = counted(&deployment(&json!({})), &sets, Some(&sets[1]), at("2026-01-01T00:00:00Z"));
        let mut status = serde_json::to_value(status).unwrap();
        status.as_object_mut().unwrap().remove("conditions");
        let expected = json!({
            "observedGeneration": 2, "replicas": 4, "updatedReplicas": 2, "readyReplicas": 3,
            "availableReplicas": 3, "unavailableReplicas": 1, "terminatingReplicas": 2,
        });
        assert_eq!(status, expected);
        let mut fresh = set("fresh", 1, 0, 0);
        fresh.status = Default::default();
        assert_eq!(ending(&[fresh.clone(), set("old", 1, 1, 1)]), Some(1));
        fresh.status.observed_generation = 1;
        assert_eq!(ending(&[fresh, set("old", 1, 1, 1)]), None);
    }

    #[test]
    fn a_rollout_is_told_of_from_its_beginning_to_its_end() {
        let now = at("2026-01-01T00:10:00Z");
        let fresh = "2026-01-01T00:05:00Z";
        let available = "Available True MinimumReplicasAvailable: Deployment has minimum availability.";
        let unavailable =
            "Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.";
        let running = json!({"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [progressing("True", "NewReplicaSetCreated", fresh)]});
        // What was said, the old and the new set: what is said.
        let cases = [
            (
                running.clone(),
                set("old", 2, 2, 2),
                set("new", 2, 1, 0),
                ["Progressing True NewReplicaSetCreated: ", available],
            ),
            (
                running.clone(),
                set("old", 2, 2, 1),
                set("new", 2, 2, 0),
                [unavailable, "Progressing True ReplicaSetUpdated: ReplicaSet \"new\" is progressing."],
            ),
            (
                running,
                set("old", 0, 0, 0),
                set("new", 3, 3, 3),
                [
                    available,
                    "Progressing True NewReplicaSetAvailable: ReplicaSet \"new\" has successfully progressed.",
                ],
            ),
            (
                json!({"replicas": 3, "updatedReplicas": 3, "conditions": [progressing("True", NEW_AVAILABLE, fresh)]}),
                set("old", 0, 0, 0),
                set("new", 3, 3, 1),
                ["Progressing True NewReplicaSetAvailable: ", unavailable],
            ),
            (
                json!({"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2, "conditions": [
                progressing("True", "ReplicaSetUpdated", "2025-12-31T23:59:59Z")]}),
                set("old", 2, 2, 2),
                set("new", 2, 1, 0),
                [
                    available,
                    "Progressing False ProgressDeadlineExceeded: ReplicaSet \"new\" has timed out progressing.",
                ],
            ),
        ];
        for (before, old, new, expected) in cases {
            let sets = [old, new];
            let status = rolled(&deployment(&before), &sets, Some(&sets[1]), now);
            assert_eq!(said(&status), expected, "after {before}");
        }
    }

    #[test]
    fn the_time_of_the_last_progress_is_kept() {
        let before = json!({"replicas": 3, "updatedReplicas": 1, "conditions": [
            progressing("True", "ReplicaSetUpdated", "2026-01-01T00:05:00Z")]});
        let deployment = deployment(&before);
        let sets = [set("old", 2, 2, 2), set("new", 2, 2, 0)];
        let status = rolled(&deployment, &sets, Some(&sets[1]), at("2026-01-01T00:06:00Z"));
        let progressing = conditions::find(&status.conditions, PROGRESSING).unwrap();
        assert_eq!(progressing.last_update_time.as_deref(), Some("2026-01-01T00:06:00Z"));
        assert_eq!(progressing.last_transition_time.as_deref(), Some("2026-01-01T00:05:00Z"));
        let next = next_look(&deployment, &status, at("2026-01-01T00:07:00Z"));
        assert_eq!(next, Some(Duration::from_secs(9 * 60 + 1)));
    }

    #[test]
    fn a_failure_of_the_new_set_is_the_one_that_is_told() {
        let failed = |name: &str| {
            let mut set = set(name, 1, 0, 0);
            set.status.conditions = serde_json::from_value(json!([
                {"type": REPLICA_FAILURE, "status": "True", "reason": "FailedCreate", "message": name,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}]))
            .unwrap();
            set
        };
        let sets = [failed("old"), failed("new")];
        assert_eq!(failure(&sets, Some(&sets[1])).unwrap().message, "new");
        assert_eq!(failure(&sets, None).unwrap().message, "old");
        assert_eq!(failure(&[set("fine", 1, 1, 1)], None), None);
    }
}
