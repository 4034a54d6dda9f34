//! Definitions: serves the resources that the CustomResourceDefinitions in the store define.
//!
//! Invariants:
//! - `definitions.D1`: a status is written only over the version of the definition that it was computed from.
//! - `definitions.D2`: `settle` is idempotent and may be called concurrently.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::{ObjectKey, Status};

use crate::clock::now;
use crate::registry::{Registry, Resource, SharedRegistry};
use crate::store::{
    CollectionId, Precondition, RangeQuery, Revision, Store, Unversioned, WatchQuery, WriteError,
};

use super::cleanup::clean_up;
use super::definition::{Definition, Names};
use super::kind::Life;
use super::names;
use super::rows::rows;
use super::status::{condition, set_condition, set_names};
use super::version_order::by_preference;

/// The collection of the definitions.
pub(super) const COLLECTION: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// The delay before a retry after a failure of the store.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// The definitions of a server, and the resources that they define.
pub struct Definitions {
    store: Arc<dyn Store>,
    registry: SharedRegistry,
    /// The built-in resources.
    base: Arc<Registry>,
    /// By name. The lock is held while statuses and registry are reconciled with the store.
    known: Mutex<BTreeMap<String, Known>>,
}

struct Known {
    created: Revision,
    modified: Revision,
    definition: Definition,
    served: Option<Served>,
}

/// The rows of a definition.
struct Served {
    uid: String,
    generation: i64,
    names: Names,
    /// A row for each version, and whether it is served.
    rows: Vec<(Arc<Resource>, bool)>,
    life: Arc<Life>,
}

/// A definition whose objects have to be deleted.
pub(super) struct Doomed {
    pub(super) name: String,
    pub(super) uid: String,
    /// A row of its resource; `None` if it was never served.
    pub(super) row: Option<Arc<Resource>>,
}

impl Definitions {
    /// Adds the definitions of a store to the resources that the registry holds now.
    pub fn new(registry: SharedRegistry, store: Arc<dyn Store>) -> Self {
        Self { base: registry.now(), registry, store, known: Mutex::default() }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Serves what the definitions in the store define, and updates their statuses (`custom.C1`). If the future is
    /// dropped, the next call completes the work.
    ///
    /// # Errors
    /// Returns 503 if the store is unavailable.
    pub async fn settle(&self) -> Result<(), Status> {
        let mut known = self.known.lock().await;
        loop {
            self.read(&mut known).await?;
            let named = self.name(&mut known).await?;
            self.serve(&mut known);
            if !self.establish(&mut known).await? && !named {
                return Ok(());
            }
        }
    }

    /// Reads the definitions from the store.
    async fn read(&self, known: &mut BTreeMap<String, Known>) -> Result<(), Status> {
        let range =
            self.store.range(RangeQuery::all(CollectionId::from(COLLECTION))).await.map_err(unavailable)?;
        let mut before = std::mem::take(known);
        for stored in range.items {
            let name = stored.key().name().to_owned();
            let old = before.remove(&name);
            let (created, modified) = (stored.created(), stored.modified());
            if let Some(same) = old.as_ref().filter(|old| old.modified == modified) {
                debug_assert_eq!(same.created, created);
                known.extend(old.map(|old| (name, old)));
                continue;
            }
            match serde_json::from_slice(&stored.object().encoded.body) {
                Ok(definition) => {
                    let served = old.and_then(|old| old.served);
                    known.insert(name, Known { created, modified, definition, served });
                }
                // This server stores only what it can read.
                Err(error) => tracing::warn!("failed to read definition {name}; not serving it: {error}"),
            }
        }
        for served in before.into_values().filter_map(|gone| gone.served) {
            served.life.gone.cancel();
        }
        Ok(())
    }

    /// Accepts or rejects the names of definitions, the oldest first (`custom.C2`). Returns whether anything was written.
    async fn name(&self, known: &mut BTreeMap<String, Known>) -> Result<bool, Status> {
        let mut order: Vec<(Revision, String)> =
            known.iter().map(|(name, known)| (known.created, name.clone())).collect();
        order.sort();
        for (_, name) in order {
            let definition = &known[&name].definition;
            let all = known.values().map(|known| &known.definition);
            if let Some(naming) = names::decide(definition, all) {
                let now = now();
                self.edit(&name, known[&name].modified, |value| {
                    set_names(value, &naming.accepted);
                    naming.conditions.iter().for_each(|it| set_condition(value, it, now));
                })
                .await?;
                return Ok(true); // the names that are free have changed
            }
        }
        Ok(false)
    }

    /// Replaces the registry.
    fn serve(&self, known: &mut BTreeMap<String, Known>) {
        let mut rows_of_all = Vec::new();
        for Known { definition, served, .. } in known.values_mut() {
            let is_served = definition.is("NamesAccepted") || definition.is("Established");
            let is_same = |served: &Served| {
                served.uid == definition.metadata.uid
                    && served.generation == definition.metadata.generation
                    && served.names == definition.status.accepted_names
            };
            if let Some(old) = served.take_if(|served| !is_served || !is_same(served)) {
                old.life.gone.cancel();
            }
            if is_served && served.is_none() {
                let life = Arc::new(Life::default());
                *served = Some(Served {
                    uid: definition.metadata.uid.clone(),
                    generation: definition.metadata.generation,
                    names: definition.status.accepted_names.clone(),
                    rows: rows(definition, &life),
                    life,
                });
            }
            if let Some(served) = served {
                served.life.terminating.store(definition.is_terminating(), Ordering::Release);
                rows_of_all
                    .extend(served.rows.iter().filter(|(_, served)| *served).map(|(row, _)| row.clone()));
            }
        }
        rows_of_all.sort_by(|a, b| {
            a.group
                .cmp(&b.group)
                .then_with(|| by_preference(&a.version, &b.version))
                .then(a.name.cmp(&b.name))
        });
        let mut registry = (*self.base).clone();
        for row in rows_of_all {
            drop(registry.add(row)); // built-in rows win
        }
        self.registry.replace(registry);
    }

    /// Marks definitions that are served as established. Returns whether anything was written.
    async fn establish(&self, known: &mut BTreeMap<String, Known>) -> Result<bool, Status> {
        let mut written = false;
        for (name, known) in known.iter() {
            if known.definition.is("NamesAccepted") && !known.definition.is("Established") {
                let words = "the initial names have been accepted";
                let established = condition("Established", true, "InitialNamesAccepted", words);
                let now = now();
                self.edit(name, known.modified, |value| set_condition(value, &established, now)).await?;
                written = true;
            }
        }
        Ok(written)
    }

    /// Changes a definition unless it has changed since (`definitions.D1`).
    async fn edit(&self, name: &str, at: Revision, change: impl FnOnce(&mut Value)) -> Result<(), Status> {
        let (collection, key) = (CollectionId::from(COLLECTION), ObjectKey::cluster(name));
        let Some(stored) = self.store.get(&collection, &key).await.map_err(unavailable)? else {
            return Ok(());
        };
        if stored.modified() != at {
            return Ok(());
        }
        let mut value: Value =
            serde_json::from_slice(&stored.object().encoded.body).map_err(Status::internal_error)?;
        change(&mut value);
        let value = Unversioned::from_json(value.to_string().as_bytes()).map_err(Status::internal_error)?;
        match self.store.put(&collection, value, Precondition::At(at)).await {
            Ok(_) | Err(WriteError::Conflict { .. }) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Returns the definitions whose objects have to be deleted.
    async fn doomed(&self) -> Vec<Doomed> {
        let known = self.known.lock().await;
        let doomed = known.iter().filter(|(_, known)| known.definition.awaits_cleanup());
        doomed
            .map(|(name, known)| Doomed {
                name: name.clone(),
                uid: known.definition.metadata.uid.clone(),
                row: known
                    .served
                    .as_ref()
                    .filter(|_| known.definition.is("Established"))
                    .and_then(|served| served.rows.first())
                    .map(|(row, _)| row.clone()),
            })
            .collect()
    }

    /// Watches the store until `stop` is cancelled: settles every change, and deletes the objects of deleted definitions
    /// (`custom.C3`).
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            if stop.run_until_cancelled(self.follow()).await.is_some() {
                stop.run_until_cancelled(tokio::time::sleep(RETRY_DELAY)).await;
            }
        }
    }

    /// Watches the store; returns when the watch fails or has expired.
    async fn follow(self: &Arc<Self>) -> Result<(), Status> {
        let after = self.store.current().await.map_err(unavailable)?;
        let query = WatchQuery { collection: CollectionId::from(COLLECTION), namespace: None, after };
        let mut watch = self.store.watch(query).await.map_err(unavailable)?;
        let (mut cleanups, mut in_work) = (JoinSet::new(), BTreeMap::new());
        loop {
            self.settle().await?;
            for doomed in self.doomed().await {
                if !in_work.values().any(|uid| *uid == doomed.uid) {
                    let (uid, this) = (doomed.uid.clone(), self.clone());
                    let task = cleanups.spawn(async move { clean_up(&this, doomed).await });
                    in_work.insert(task.id(), uid);
                }
            }
            tokio::select! {
                batch = watch.next() => match batch {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(unavailable(error)),
                    None => return Ok(()),
                },
                Some(ended) = cleanups.join_next_with_id() => {
                    let id = match &ended {
                        Ok((id, _)) => *id,
                        Err(failed) => failed.id(),
                    };
                    in_work.remove(&id);
                    if let Ok((_, outcome)) = ended {
                        outcome?;
                    }
                }
            }
        }
    }
}

pub(super) fn unavailable(error: impl std::fmt::Display) -> Status {
    Status::service_unavailable(error.to_string())
}
