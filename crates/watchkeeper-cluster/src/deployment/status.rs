//! Status: replica counts and conditions of a deployment.

use std::time::Duration;

use watchkeeper_core::Timestamp;

use super::bounds::Bounds;
use super::conditions::{self, AVAILABLE, NEW_AVAILABLE, PROGRESSING, REPLICA_FAILURE, TIMED_OUT, condition};
use crate::clock::{after, between};
use crate::view::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet};

/// Added to the delay of a check: timestamps have whole seconds, so it would otherwise be up to a second early.
const SECOND: Duration = Duration::from_secs(1);

/// Returns the replica counts and the `Available` condition.
pub(super) fn count_replicas(
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
        terminating_replicas: terminating(sets),
        conditions: deployment.status.conditions.clone(),
        collision_count: deployment.status.collision_count,
    };
    let is_available = i64::from(available) >= Bounds::of(deployment).min_available();
    let (is_so, reason, message) = if is_available {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    conditions::set(&mut status.conditions, condition(AVAILABLE, is_so, reason, message.to_owned(), now));
    status
}

/// Returns the number of terminating pods, or `None` if a set whose status was written does not report it.
fn terminating(sets: &[ReplicaSet]) -> Option<i32> {
    sets.iter().try_fold(0, |sum: i32, set| match set.status.terminating_replicas {
        None if set.status.observed_generation == 0 => Some(sum),
        count => count.map(|count| sum.saturating_add(count)),
    })
}

/// Returns the status during a rollout, including the progress conditions.
pub(super) fn rollout_status(
    deployment: &Deployment,
    sets: &[ReplicaSet],
    new: Option<&ReplicaSet>,
    now: Timestamp,
) -> DeploymentStatus {
    let mut status = count_replicas(deployment, sets, new, now);
    let current = conditions::find(&deployment.status.conditions, PROGRESSING);
    if deployment.progress_deadline().is_none() {
        conditions::remove(&mut status.conditions, PROGRESSING);
    } else {
        // A completed rollout does not start again because a pod is lost.
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
    let subject = match new {
        Some(set) => format!("ReplicaSet {:?}", set.metadata.name),
        None => format!("Deployment {:?}", deployment.metadata.name),
    };
    let progressing =
        |is_so, reason, what| condition(PROGRESSING, is_so, reason, format!("{subject} {what}"), now);
    if is_complete(deployment, status) {
        conditions::set(
            &mut status.conditions,
            progressing("True", NEW_AVAILABLE, "has successfully progressed."),
        );
    } else if has_progressed(&deployment.status, status) {
        let mut updated = progressing("True", "ReplicaSetUpdated", "is progressing.");
        // Written even if unchanged: the update time is the time of the last progress.
        let current = conditions::find(&deployment.status.conditions, PROGRESSING);
        if let Some(current) = current.filter(|current| current.status == "True") {
            updated.last_transition_time.clone_from(&current.last_transition_time);
        }
        conditions::remove(&mut status.conditions, PROGRESSING);
        status.conditions.push(updated);
    } else if has_timed_out(deployment, status, now) {
        conditions::set(
            &mut status.conditions,
            progressing("False", TIMED_OUT, "has timed out progressing."),
        );
    }
}

/// Returns whether all pods are updated and available.
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

/// Returns when to check the progress deadline if nothing else happens.
pub(super) fn next_check(
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

/// Returns the failure of a replica set, preferably of the new one.
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

    /// Returns the conditions in short form.
    fn summary(status: &DeploymentStatus) -> Vec<String> {
        let conditions = status.conditions.iter();
        conditions
            .map(|each| format!("{} {} {}: {}", each.kind, each.status, each.reason, each.message))
            .collect()
    }

    #[test]
    fn replica_counts_cover_all_sets() {
        let sets = [set("old", 2, 2, 2), set("new", 2, 2, 1)];
        let status =
            count_replicas(&deployment(&json!({})), &sets, Some(&sets[1]), at("2026-01-01T00:00:00Z"));
        let mut status = serde_json::to_value(status).unwrap();
        status.as_object_mut().unwrap().remove("conditions");
        let expected = json!({
            "observedGeneration": 2, "replicas": 4, "updatedReplicas": 2, "readyReplicas": 3,
            "availableReplicas": 3, "unavailableReplicas": 1, "terminatingReplicas": 2,
        });
        assert_eq!(status, expected);
        let mut fresh = set("fresh", 1, 0, 0);
        fresh.status = Default::default();
        assert_eq!(terminating(&[fresh.clone(), set("old", 1, 1, 1)]), Some(1));
        fresh.status.observed_generation = 1;
        assert_eq!(terminating(&[fresh, set("old", 1, 1, 1)]), None);
    }

    #[test]
    fn conditions_follow_a_rollout_from_start_to_end() {
        let now = at("2026-01-01T00:10:00Z");
        let fresh = "2026-01-01T00:05:00Z";
        let available = "Available True MinimumReplicasAvailable: Deployment has minimum availability.";
        let unavailable =
            "Available False MinimumReplicasUnavailable: Deployment does not have minimum availability.";
        let running = json!({"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2,
            "conditions": [progressing("True", "NewReplicaSetCreated", fresh)]});
        // Status before, old set, new set, and the expected conditions.
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
            let status = rollout_status(&deployment(&before), &sets, Some(&sets[1]), now);
            assert_eq!(summary(&status), expected, "after {before}");
        }
    }

    #[test]
    fn progress_updates_the_update_time_but_not_the_transition_time() {
        let before = json!({"replicas": 3, "updatedReplicas": 1, "conditions": [
            progressing("True", "ReplicaSetUpdated", "2026-01-01T00:05:00Z")]});
        let deployment = deployment(&before);
        let sets = [set("old", 2, 2, 2), set("new", 2, 2, 0)];
        let status = rollout_status(&deployment, &sets, Some(&sets[1]), at("2026-01-01T00:06:00Z"));
        let progressing = conditions::find(&status.conditions, PROGRESSING).unwrap();
        assert_eq!(progressing.last_update_time.as_deref(), Some("2026-01-01T00:06:00Z"));
        assert_eq!(progressing.last_transition_time.as_deref(), Some("2026-01-01T00:05:00Z"));
        let next = next_check(&deployment, &status, at("2026-01-01T00:07:00Z"));
        assert_eq!(next, Some(Duration::from_secs(9 * 60 + 1)));
    }

    #[test]
    fn a_failure_of_the_new_set_takes_precedence() {
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
