//! Admission: requests to the admission chain, and to the allocator of addresses.

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use watchkeeper_core::Status;

use super::draft::Draft;
use super::{Call, Writer};
use crate::admission::{AdmissionRequest, Operation};

impl Writer {
    /// Admits what is posted to a subresource, or is not stored.
    pub(super) async fn admit_body(
        &self,
        call: &Call<'_>,
        body: Value,
        dry_run: bool,
    ) -> Result<Value, Status> {
        let mut draft = Draft::of_body(body);
        let chain = &self.admission;
        chain.mutate(call.admission(Operation::Create, None, Some(&mut draft), dry_run)).await?;
        chain.validate(call.admission(Operation::Create, None, Some(&mut draft), dry_run)).await?;
        Ok(draft.into_body())
    }

    /// Admits a connection to an object.
    ///
    /// # Errors
    /// The status of the plugin that refuses it.
    pub async fn admit_connect(&self, call: &Call<'_>) -> Result<(), Status> {
        let request = || call.admission(Operation::Connect, None, None, false);
        self.admission.mutate(request()).await?;
        self.admission.validate(request()).await
    }

    /// Waits until no other request allocates addresses; not at all for kinds that have none.
    pub(super) async fn lock_addresses(&self, call: &Call<'_>) -> Option<OwnedMutexGuard<()>> {
        if call.resource.rules().allocates_addresses() { Some(self.addresses.lock().await) } else { None }
    }

    /// Allocates the addresses of a service, for which [`lock_addresses`](Self::lock_addresses) must be held.
    pub(super) async fn allocate(
        &self,
        call: &Call<'_>,
        old: Option<&Draft>,
        new: &mut Draft,
    ) -> Result<(), Status> {
        let is_needed = call.resource.rules().allocates_addresses()
            && call.subresource.is_none()
            && !new.is_being_deleted();
        if is_needed { self.addresses.allocate(call.resource, old, new).await } else { Ok(()) }
    }
}

impl<'a> Call<'a> {
    /// Returns the call as the admission chain sees it.
    pub(super) fn admission<'b>(
        &'b self,
        operation: Operation,
        old_object: Option<&'b Draft>,
        object: Option<&'b mut Draft>,
        dry_run: bool,
    ) -> AdmissionRequest<'b> {
        let Call { resource, subresource, namespace, name, user } = *self;
        AdmissionRequest {
            operation,
            resource,
            subresource,
            namespace,
            name,
            user,
            dry_run,
            object,
            old_object,
        }
    }
}
