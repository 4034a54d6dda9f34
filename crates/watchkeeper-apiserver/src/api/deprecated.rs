//! Deprecated resources: what to use in their place is told to whoever uses them.

use crate::http::ResourceRequest;
use crate::registry::Registry;

/// What to warn the client of, whatever becomes of the request.
pub(super) fn warning(target: &ResourceRequest, registry: &Registry) -> Option<String> {
    let row = registry.get(&target.group, &target.version, &target.resource);
    if let Some(custom) = row.and_then(|row| row.custom.as_ref()) {
        return custom.deprecation().map(str::to_owned);
    }
    let known = match (&*target.group, &*target.version, &*target.resource) {
        ("", "v1", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        // What cannot be done with them is not warned of.
        ("", "v1", "componentstatuses") if target.verb.writes() => None,
        ("", "v1", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    };
    known.map(str::to_owned)
}
