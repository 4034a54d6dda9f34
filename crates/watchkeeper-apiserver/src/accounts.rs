//! Service accounts in the store, for verifying tokens.

use std::sync::Arc;

use watchkeeper_core::ObjectKey;

use crate::http::{AccountFuture, Accounts, ExistingAccount};
use crate::store::{CollectionId, Store};

/// Looks up service accounts in a store.
pub(crate) struct StoredAccounts {
    store: Arc<dyn Store>,
    collection: CollectionId,
}

impl StoredAccounts {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, collection: CollectionId::from("serviceaccounts") }
    }
}

impl Accounts for StoredAccounts {
    fn find<'a>(&'a self, namespace: &'a str, name: &'a str) -> AccountFuture<'a> {
        Box::pin(async move {
            let key = ObjectKey::namespaced(namespace, name);
            let found = self.store.get(&self.collection, &key).await;
            let stored = found.unwrap_or_else(|error| {
                tracing::warn!("failed to read service account {key}; rejecting its token: {error}");
                None
            })?;
            let metadata = &stored.object().metadata;
            Some(ExistingAccount {
                uid: metadata.uid().to_owned(),
                deleted: metadata.deletion_timestamp().map(|at| at.seconds),
            })
        })
    }
}
