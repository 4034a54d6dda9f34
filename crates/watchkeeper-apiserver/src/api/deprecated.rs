//! Deprecated resources, and the warnings for their users.

use crate::http::ResourceRequest;
use crate::registry::Registry;

/// Returns the warning for a request, whatever its outcome.
pub(super) fn warning(target: &ResourceRequest, registry: &Registry) -> Option<String> {
    let row = registry.get(&target.group, &target.version, &target.resource)?;
    if let Some(custom) = &row.custom {
        return custom.deprecation().map(str::to_owned);
    }
    row.rules().deprecation(target.verb.writes()).map(str::to_owned)
}
