//! Live objects: reads and writes of objects on the server.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::discovery::{MapError, RestMapper};
use watchkeeper_client::dynamic::{DeleteOptions, Propagation, WriteOptions};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::{PatchKind, RequestError};
use watchkeeper_core::{GroupKind, GroupVersion, Status};

use super::reference::{Reference, Uid};
use crate::view::OwnerReference;

/// Finalizer of foreground deletion: dependents are deleted first.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of orphaning: owner references of dependents are removed first.
pub(super) const ORPHAN: &str = "orphan";

/// Maximum attempts to remove a finalizer from an object that others keep writing.
const TRIES: u32 = 5;

/// An object as returned by the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Live {
    pub(super) metadata: LiveMeta,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LiveMeta {
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) deletion_timestamp: Option<String>,
    pub(super) finalizers: Vec<String>,
    pub(super) owner_references: Vec<OwnerReference>,
}

impl LiveMeta {
    pub(super) fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|it| it == finalizer)
    }
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CollectError {
    /// The kind is unknown, perhaps not for long.
    #[error("unable to get REST mapping for {0}")]
    Unmapped(String),
    /// Permanent: not retried.
    #[error("cluster-scoped objects cannot refer to namespaced owners")]
    NamespacedOwner,
    #[error(transparent)]
    Discovery(#[from] MapError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// All objects of the server.
pub(super) struct Objects {
    client: Client,
    mapper: RestMapper,
}

/// An object at a resolved location.
pub(super) struct Placed {
    api: ResourceClient<Live>,
    name: String,
    uid: Uid,
    pub(super) is_namespaced: bool,
}

impl Objects {
    pub(super) fn new(client: Client, mapper: RestMapper) -> Self {
        Self { client, mapper }
    }

    /// Discards cached discovery, after the server's resources have changed.
    pub(super) fn reset(&self) {
        self.mapper.reset();
    }

    /// Resolves a reference to a location.
    pub(super) async fn place(&self, reference: &Reference) -> Result<Placed, CollectError> {
        let of = &reference.of;
        let unmapped = || CollectError::Unmapped(format!("{}/{}", of.api_version, of.kind));
        let at: GroupVersion = of.api_version.parse().map_err(|_| unmapped())?;
        let kind = GroupKind { group: at.group.clone(), kind: of.kind.clone() };
        let mapping = match self.mapper.kind(&kind, &[&at.version]).await {
            Ok(mapping) => mapping,
            Err(error) if error.is_no_match() => return Err(unmapped()),
            Err(error) => return Err(error.into()),
        };
        let api = self.client.metadata(&mapping.resource.group_version(), &mapping.resource.resource);
        let api = match (mapping.namespaced, reference.key.namespace()) {
            (true, Some(namespace)) => api.namespace(namespace),
            (true, None) => return Err(CollectError::NamespacedOwner),
            (false, _) => api,
        };
        let (name, uid) = (reference.key.name().to_owned(), reference.uid.clone());
        Ok(Placed { api: api.cast(), name, uid, is_namespaced: mapping.namespaced })
    }
}

impl Placed {
    /// Returns the object if it has the expected UID.
    pub(super) async fn get(&self) -> Result<Option<LiveMeta>, RequestError> {
        let found = self.api.get_opt(&self.name).await?;
        Ok(found.map(|found| found.metadata).filter(|found| *found.uid == *self.uid))
    }

    /// Deletes the object unless its owners have changed since it was read.
    pub(super) async fn delete(&self, read: &LiveMeta, policy: Propagation) -> Result<(), RequestError> {
        let options = |version: Option<&str>| DeleteOptions {
            propagation: Some(policy),
            uid: Some(self.uid.to_string()),
            resource_version: version.map(str::to_owned),
            ..DeleteOptions::default()
        };
        let conflict = match self.api.delete(&self.name, &options(Some(&read.resource_version))).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_conflict() => error,
            Err(error) => return Err(error),
        };
        let now = self.api.get(&self.name).await?.metadata;
        let is_same = *now.uid == *self.uid && now.owner_references == read.owner_references;
        if is_same && now.resource_version != read.resource_version {
            // Unrelated changes, perhaps frequent ones, must not keep garbage alive.
            self.api.delete(&self.name, &options(None)).await.map(drop)
        } else {
            Err(conflict)
        }
    }

    /// Removes owner references.
    pub(super) async fn remove_owners(&self, owners: &[&str]) -> Result<(), RequestError> {
        let removed: Vec<Value> = owners.iter().map(|uid| json!({"$patch": "delete", "uid": uid})).collect();
        self.change_owners(removed, |all| all.retain(|owner| !owners.contains(&owner.uid.as_str()))).await
    }

    /// Clears `blockOwnerDeletion` on all owner references.
    pub(super) async fn unblock_owners(&self, read: &LiveMeta) -> Result<(), RequestError> {
        let blocking = read.owner_references.iter().filter(|owner| owner.block_owner_deletion == Some(true));
        let unblocked =
            blocking.map(|owner| json!({"uid": owner.uid, "blockOwnerDeletion": false})).collect();
        self.change_owners(unblocked, |all| {
            all.iter_mut().for_each(|owner| owner.block_owner_deletion = Some(false));
        })
        .await
    }

    /// Changes owner references by a strategic merge patch, or by a merge patch if the kind does not support
    /// it.
    async fn change_owners(
        &self,
        strategic: Vec<Value>,
        change: impl Fn(&mut Vec<OwnerReference>),
    ) -> Result<(), RequestError> {
        let patch = json!({"metadata": {"uid": &*self.uid, "ownerReferences": strategic}});
        let patched =
            self.api.patch(&self.name, PatchKind::Strategic, &patch, &WriteOptions::default()).await;
        match patched {
            Ok(_) => return Ok(()),
            Err(error) if error.status().is_some_and(Status::is_unsupported_media_type) => {}
            Err(error) => return Err(error),
        }
        let Some(read) = self.get().await? else { return Ok(()) };
        let mut owners = read.owner_references;
        change(&mut owners);
        let patch =
            json!({"metadata": {"resourceVersion": read.resource_version, "ownerReferences": owners}});
        self.api.patch(&self.name, PatchKind::Merge, &patch, &WriteOptions::default()).await.map(drop)
    }

    /// Removes a finalizer.
    pub(super) async fn remove_finalizer(&self, finalizer: &str) -> Result<(), RequestError> {
        let mut tries = 0;
        loop {
            let Some(read) = self.get().await? else { return Ok(()) };
            if !read.has(finalizer) {
                return Ok(());
            }
            let others: Vec<&String> = read.finalizers.iter().filter(|it| *it != finalizer).collect();
            let patch = json!({"metadata": {"resourceVersion": read.resource_version, "finalizers": others}});
            tries += 1;
            match self.api.patch(&self.name, PatchKind::Merge, &patch, &WriteOptions::default()).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) if error.is_conflict() && tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }
}
