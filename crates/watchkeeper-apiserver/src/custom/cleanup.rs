//! Cleanup: deletes the objects of a definition before the definition (`custom.C3`).

use futures_util::StreamExt as _;
use serde_json::Value;
use watchkeeper_core::{ObjectKey, Status};

use crate::http::{DeleteOptions, User};
use crate::registry::Resource;
use crate::store::{CollectionId, Precondition, RangeQuery, Unversioned, WatchQuery, WriteError};
use crate::write::{Call, Writer};

use super::definition::{CLEANUP, Condition};
use super::definitions::{COLLECTION, Definitions, Doomed, unavailable};
use super::status::{condition, set_condition};
use crate::clock::now;

/// Deletes the objects of a definition, waits until they are gone, and removes the finalizer of the definition.
pub(super) async fn clean_up(definitions: &Definitions, doomed: Doomed) -> Result<(), Status> {
    let words = "CustomResource deletion is in progress";
    let progress = condition("Terminating", true, "InstanceDeletionInProgress", words);
    if !change(definitions, &doomed, &progress, false).await? {
        return Ok(());
    }
    let done = match &doomed.row {
        Some(row) => {
            delete_all(definitions, row).await?;
            condition("Terminating", false, "InstanceDeletionCompleted", "removed all instances")
        }
        None => condition("Terminating", false, "NeverEstablished", "resource was never established"),
    };
    change(definitions, &doomed, &done, true).await?;
    Ok(())
}

/// Deletes all objects of a resource, and returns once there are none.
async fn delete_all(definitions: &Definitions, row: &Resource) -> Result<(), Status> {
    let Some(collection) = row.storage.as_deref().map(CollectionId::from) else { return Ok(()) };
    let store = definitions.store();
    let writer = Writer::new(store.clone());
    let user = User::default();
    let call = Call { resource: row, subresource: None, namespace: None, name: None, user: &user };
    loop {
        let found = store.range(RangeQuery::all(collection.clone())).await.map_err(unavailable)?;
        if found.items.is_empty() {
            return Ok(());
        }
        let query = WatchQuery { collection: collection.clone(), namespace: None, after: found.revision };
        let mut watch = store.watch(query).await.map_err(unavailable)?;
        writer.delete_collection(&call, &found.items, &DeleteOptions::default()).await?;
        watch.next().await; // any event: list again
    }
}

/// Sets a condition of a definition, and removes its finalizer if `release`. Returns whether it still exists.
async fn change(
    definitions: &Definitions,
    doomed: &Doomed,
    condition: &Condition,
    release: bool,
) -> Result<bool, Status> {
    let (store, collection) = (definitions.store(), CollectionId::from(COLLECTION));
    let key = ObjectKey::cluster(&doomed.name);
    loop {
        let Some(stored) = store.get(&collection, &key).await.map_err(unavailable)? else { return Ok(false) };
        let mut value: Value =
            serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
        let metadata = &value["metadata"];
        if metadata["uid"] != *doomed.uid || metadata["deletionTimestamp"].is_null() {
            return Ok(false);
        }
        set_condition(&mut value, condition, now());
        let mut is_removed = false;
        if release && let Some(Value::Array(finalizers)) = value["metadata"].get_mut("finalizers") {
            finalizers.retain(|finalizer| finalizer != CLEANUP);
            is_removed = finalizers.is_empty();
        }
        let outcome = if is_removed {
            store.delete(&collection, &key, Some(stored.modified())).await.map(|_| ())
        } else {
            let body = value.to_string();
            let value = Unversioned::from_json(body.as_bytes()).map_err(Status::internal_error)?;
            store.put(&collection, value, Precondition::At(stored.modified())).await.map(|_| ())
        };
        match outcome {
            Ok(()) => return Ok(!is_removed),
            Err(WriteError::Conflict { .. }) => {} // read it again
            Err(error) => return Err(unavailable(error)),
        }
    }
}
