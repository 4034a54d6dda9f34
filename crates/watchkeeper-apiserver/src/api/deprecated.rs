//! Deprecated resources, and the warnings for their users.

use crate::http::ResourceRequest;
use crate::registry::Registry;

/// Returns the warning for a request, whatever its outcome.
pub(super) fn warning(target: &ResourceRequest, registry: &Registry) -> Option<String> {
    let row = registry.get(&target.group, &target.version, &target.resource);
    if let Some(custom) = row.and_then(|row| row.custom.as_ref()) {
        return custom.deprecation().map(str::to_owned);
    }
    let known = match (&*target.group, &*target.version, &*target.resource) {
        ("", "v1", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        // Unsupported verbs get no warning.
        ("", "v1", "componentstatuses") if target.verb.writes() => None,
        ("", "v1", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    };
    known.map(str::to_owned)
}
