//! Conditions of a terminating namespace.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use watchkeeper_core::{GroupVersionResource, Timestamp};

use super::content::Left;

const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const DELETION: &str = "NamespaceDeletionContentFailure";
const CONTENT: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// All conditions in order, each with the reason and message that apply when its status is `False`.
const DEFAULTS: [(&str, &str, &str); 5] = [
    (DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (DELETION, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (CONTENT, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// The failures of one pass.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    discovery: Option<String>,
    deletions: Vec<String>,
}

/// The objects left after a pass.
#[derive(Debug, Default)]
pub(super) struct Totals {
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Totals {
    pub(super) fn add(&mut self, resource: &GroupVersionResource, left: &Left) {
        if left.count > 0 {
            *self.resources.entry(format!("{}.{}", resource.resource, resource.group)).or_default() +=
                left.count;
        }
        for (finalizer, count) in &left.finalizers {
            *self.finalizers.entry(finalizer.clone()).or_default() += count;
        }
    }
}

impl Conditions {
    pub(super) fn discovery_failed(&mut self, error: &str) {
        self.discovery = Some(error.to_owned());
    }

    pub(super) fn deletion_failed(&mut self, error: &str) {
        self.deletions.push(error.to_owned());
    }

    /// Returns the updated conditions, or `None` if they are unchanged.
    pub(super) fn update(&self, before: Value, totals: &Totals, now: Timestamp) -> Option<Value> {
        let mut all = match before {
            Value::Array(all) => all,
            _ => Vec::new(),
        };
        let mut has_changed = false;
        for (kind, reason, message) in DEFAULTS {
            let (status, reason, message) = match self.failure(kind, totals) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_owned()),
            };
            let now = now.to_string();
            let Some(old) = all.iter_mut().find(|condition| condition["type"] == kind) else {
                all.push(json!({
                    "type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
                }));
                has_changed = true;
                continue;
            };
            if old["status"] == status && old["reason"] == reason && old["message"] == message.as_str() {
                continue;
            }
            if old["status"] != status {
                old["lastTransitionTime"] = now.into();
            }
            (old["status"], old["reason"], old["message"]) = (status.into(), reason.into(), message.into());
            has_changed = true;
        }
        has_changed.then_some(Value::Array(all))
    }

    /// Returns reason and message if the condition is `True`.
    fn failure(&self, kind: &str, totals: &Totals) -> Option<(&'static str, String)> {
        match kind {
            DISCOVERY => Some(("DiscoveryFailed", self.discovery.clone()?)),
            DELETION if !self.deletions.is_empty() => {
                let mut all = self.deletions.clone();
                all.sort();
                let (count, all) = (all.len(), all.join(", "));
                let message = format!("Failed to delete all resource types, {count} remaining: {all}");
                Some(("ContentDeletionFailed", message))
            }
            CONTENT if !totals.resources.is_empty() => {
                let all = listed(&totals.resources, "has", "resource instances");
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {all}")))
            }
            FINALIZERS if !totals.finalizers.is_empty() => {
                let all = listed(&totals.finalizers, "in", "resource instances");
                let message = format!("Some content in the namespace has finalizers remaining: {all}");
                Some(("SomeFinalizersRemain", message))
            }
            _ => None,
        }
    }
}

fn listed(counts: &BTreeMap<String, usize>, verb: &str, what: &str) -> String {
    let mut all: Vec<String> =
        counts.iter().map(|(name, count)| format!("{name} {verb} {count} {what}")).collect();
    all.sort();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp { seconds: 0, nanos: 0 };
    const LATER: Timestamp = Timestamp { seconds: 60, nanos: 0 };

    fn resource(group: &str, resource: &str) -> GroupVersionResource {
        GroupVersionResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
        }
    }

    #[test]
    fn unchanged_conditions_are_not_rewritten() {
        let (conditions, totals) = (Conditions::default(), Totals::default());
        let all = conditions.update(Value::Null, &totals, NOW).unwrap();
        let statuses: Vec<_> = all.as_array().unwrap().iter().map(|one| one["status"].clone()).collect();
        assert_eq!(statuses, ["False"; 5]);
        assert_eq!(conditions.update(all, &totals, LATER), None);
    }

    #[test]
    fn remaining_objects_are_counted_by_resource_and_finalizer() {
        let mut totals = Totals::default();
        let held = |count| BTreeMap::from([("example.com/hold".to_owned(), count)]);
        totals.add(&resource("", "secrets"), &Left { estimate: 15, count: 2, finalizers: held(2) });
        totals.add(&resource("apps", "deployments"), &Left { estimate: 15, count: 1, finalizers: held(1) });
        let all = Conditions::default().update(Value::Null, &totals, NOW).unwrap();
        assert_eq!(
            all[3]["message"],
            "Some resources are remaining: deployments.apps has 1 resource instances, secrets. has 2 resource instances"
        );
        assert_eq!(
            all[4]["message"],
            "Some content in the namespace has finalizers remaining: example.com/hold in 3 resource instances"
        );
        let over = Conditions::default().update(all, &Totals::default(), LATER).unwrap();
        assert_eq!(
            over[3],
            json!({
                "type": "NamespaceContentRemaining", "status": "False", "reason": "ContentRemoved",
                "message": "All content successfully removed", "lastTransitionTime": LATER.to_string(),
            })
        );
        assert_eq!(over[0]["lastTransitionTime"], NOW.to_string(), "unchanged");
    }

    #[test]
    fn deletion_failures_are_sorted() {
        let mut conditions = Conditions::default();
        conditions.deletion_failed("b failed");
        conditions.deletion_failed("a failed");
        let all = conditions.update(Value::Null, &Totals::default(), NOW).unwrap();
        assert_eq!(all[2]["message"], "Failed to delete all resource types, 2 remaining: a failed, b failed");
    }
}
