//! Reset: the fields that an endpoint does not write, so that nobody comes to own them there.

use super::field_set::FieldSet;

/// Which fields an endpoint writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reset {
    /// All of them but these and what is in them.
    But(FieldSet),
    /// These alone; `*` is any item.
    Only(&'static [&'static [&'static str]]),
}

impl Reset {
    /// Those of a resource, or of a subresource of it. `has_status` says whether its status is written below it.
    pub(crate) fn of(group: &str, resource: &str, subresource: Option<&str>, has_status: bool) -> Self {
        let status: &[&[&str]] = if has_status { &[&["status"]] } else { &[] };
        let fields: &[&[&str]] = match (group, resource, subresource) {
            ("certificates.k8s.io", "certificatesigningrequests", None) => &[&["spec"], &["status"]],
            ("certificates.k8s.io", "certificatesigningrequests", Some("status")) => {
                &[&["spec"], &["status", "conditions"]]
            }
            ("certificates.k8s.io", "certificatesigningrequests", Some("approval")) => {
                &[&["spec"], &["status", "certificate"]]
            }
            ("", "pods", Some("ephemeralcontainers")) => {
                return Self::Only(&[&["spec", "ephemeralContainers"]]);
            }
            ("", "pods", Some("resize")) => {
                return Self::Only(&[
                    &["spec", "containers", "*", "resources"],
                    &["spec", "containers", "*", "resizePolicy"],
                    &["spec", "initContainers", "*", "resources"],
                    &["spec", "initContainers", "*", "resizePolicy"],
                ]);
            }
            ("", "pods", Some("status")) => {
                &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
            }
            ("apps", "deployments", Some("status")) => &[&["spec"], &["metadata", "labels"]],
            ("" | "apps" | "autoscaling" | "batch" | "policy", _, Some("status"))
            | ("networking.k8s.io", "ingresses", Some("status")) => &[&["spec"]],
            (_, _, Some("status")) => &[&["metadata"], &["spec"]],
            _ => status,
        };
        Self::But(FieldSet::of_fields(fields))
    }

    /// Of these fields, those that the endpoint writes.
    pub(super) fn filter(&self, fields: &FieldSet) -> FieldSet {
        match self {
            Self::But(reset) => fields.without(reset),
            Self::Only(patterns) => fields.along(patterns),
        }
    }
}
