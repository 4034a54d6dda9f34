//! Ensure: applies an object only if it differs.

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_client::resource::ApplyOptions;
use watchkeeper_controller::Error;
use watchkeeper_kinds::Api;
use watchkeeper_kinds::apply::ApplyConfiguration;

/// The field manager of this operator.
pub const MANAGER: &str = "website-operator";

/// Applies `wanted`, unless the cached object already has exactly these fields. `cached` needs its `managedFields`: see
/// [`informers`](crate::informers()). Returns the object if it was written.
pub(crate) async fn ensure<A>(
    server: &Api<A::Kind>,
    cached: Option<&A::Kind>,
    wanted: &A,
) -> Result<Option<A::Kind>, Error>
where
    A: ApplyConfiguration<Kind: Serialize + DeserializeOwned> + DeserializeOwned + PartialEq,
{
    if let Some(cached) = cached
        && A::extract(cached, MANAGER, "")? == *wanted
    {
        return Ok(None);
    }
    Ok(Some(server.apply(wanted, &ours()).await?))
}

/// Returns apply options that take over fields from other managers.
pub(crate) fn ours() -> ApplyOptions {
    ApplyOptions { field_manager: MANAGER.to_owned(), force: true, dry_run: false }
}
