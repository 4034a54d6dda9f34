//! Strategy: in what the kinds differ when they are written.

use crate::registry::Resource;
use watchkeeper_wire::schema;

/// Whether its kind came with a definition, and not with the server.
pub(super) fn is_custom(resource: &Resource) -> bool {
    schema::builtin().message_of(&resource.group_version_kind()).is_none()
}

/// Whether the status is written only below the object, and dropped where it is sent with it.
pub(super) fn has_status(resource: &Resource) -> bool {
    resource.subresource("status").is_some()
}

/// Whether a status that comes with a new object is kept: a node says how it is when it registers.
pub(super) fn keeps_first_status(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.name == "nodes"
}

/// Whether a PUT of an object that is not there creates it.
pub(super) fn creates_on_update(resource: &Resource) -> bool {
    match &*resource.group {
        "" => matches!(&*resource.name, "endpoints" | "events" | "limitranges" | "services"),
        "events.k8s.io" | "rbac.authorization.k8s.io" => true,
        "coordination.k8s.io" => resource.name == "leases",
        "node.k8s.io" => resource.name == "runtimeclasses",
        _ => false,
    }
}

/// Whether an update must name the version that it was made for. True of custom resources, too.
pub(super) fn needs_version(resource: &Resource) -> bool {
    match (&*resource.group, &*resource.name) {
        ("coordination.k8s.io", _)
        | ("policy", "poddisruptionbudgets")
        | ("admissionregistration.k8s.io", _)
        | ("apiextensions.k8s.io", _)
        | ("apiregistration.k8s.io", _)
        | ("storage.k8s.io", "csidrivers" | "csinodes" | "volumeattachments")
        | ("node.k8s.io", "runtimeclasses") => true,
        _ => is_custom(resource),
    }
}

/// Whether a delete answers with the object that is gone and not with a status.
pub(super) fn returns_deleted(resource: &Resource) -> bool {
    if resource.group == "resource.k8s.io" {
        return true;
    }
    let names: &[&str] = match &*resource.group {
        "" => &[
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "resourcequotas",
            "serviceaccounts",
            "services",
        ],
        "storage.k8s.io" => &["csidrivers", "csinodes", "storageclasses", "volumeattachments"],
        _ => &[],
    };
    names.contains(&&*resource.name)
}

/// Whether dependents stay unless the request says otherwise. So it was when these kinds were new.
pub(super) fn orphans_by_default(resource: &Resource) -> bool {
    matches!(
        (&*resource.group, &*resource.version, &*resource.name),
        ("", "v1", "replicationcontrollers") | ("batch", "v1", "jobs")
    )
}
