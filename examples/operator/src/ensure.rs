//! Ensure: an object is as it is wanted, and is written only where it is not.

use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_client::resource::ApplyOptions;
use watchkeeper_controller::Error;
use watchkeeper_kinds::Api;
use watchkeeper_kinds::apply::ApplyConfiguration;

/// The manager of the fields that this operator writes.
pub const MANAGER: &str = "website-operator";

/// Applies what is wanted, unless that is what was applied last and nobody has changed it since. `there` needs its
/// `managedFields`: see [`informers`](crate::informers()). The object is returned if it was written.
pub(crate) async fn ensure<A>(
    server: &Api<A::Kind>,
    there: Option<&A::Kind>,
    wanted: &A,
) -> Result<Option<A::Kind>, Error>
where
    A: ApplyConfiguration<Kind: Serialize + DeserializeOwned> + DeserializeOwned + PartialEq,
{
    if let Some(there) = there
        && A::extract(there, MANAGER, "")? == *wanted
    {
        return Ok(None);
    }
    Ok(Some(server.apply(wanted, &ours()).await?))
}

/// What this operator wants is its own.
pub(crate) fn ours() -> ApplyOptions {
    ApplyOptions { field_manager: MANAGER.to_owned(), force: true, dry_run: false }
}
