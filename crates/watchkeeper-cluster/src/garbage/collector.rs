//! Collector: decides which objects are garbage, and deletes them.
//!
//! Invariants:
//! - `collector.K1`: an object is deleted only by UID, and only after the server has confirmed that all its
//!   owners are absent.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use watchkeeper_client::dynamic::Propagation;
use watchkeeper_core::ErrorChain;
use watchkeeper_workqueue::{Item, WorkQueue};

use super::graph::{Due, Graph, Known};
use super::live::{CollectError, FOREGROUND, LiveMeta, ORPHAN, Objects, Placed};
use super::reference::{Owner, Reference, Uid};
use crate::view::OwnerReference;

/// Maximum number of dependents orphaned in parallel.
const MAX_PARALLEL: usize = 20;

/// A task for an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// Check whether it is garbage, or whether its deletion can complete.
    Delete(Uid),
    /// Orphan its dependents.
    Orphan(Uid),
}

/// State shared by all workers.
pub(super) struct Collector {
    pub(super) graph: Mutex<Graph>,
    pub(super) objects: Objects,
    pub(super) queue: WorkQueue<Task>,
}

/// The outcome of a task.
enum TaskOutcome {
    Done,
    Retry,
}

/// The owners of an object, classified by the server's answers.
#[derive(Default)]
struct Owners<'a> {
    /// Owners that exist.
    solid: usize,
    /// Owners that do not exist.
    dangling: Vec<&'a str>,
    /// Absent owners that had orphaned their dependents.
    released: Vec<&'a str>,
    /// Owners in foreground deletion, which wait for their dependents.
    waiting: Vec<&'a str>,
}

impl Collector {
    /// Executes tasks until the queue is shut down.
    pub(super) async fn work(&self) {
        while let Some(item) = self.queue.get().await {
            let outcome = match item.key() {
                Task::Delete(uid) => self.delete(&uid.clone()).await,
                Task::Orphan(uid) => self.orphan(&uid.clone()).await.map(|()| TaskOutcome::Done),
            };
            settle(item, outcome);
        }
    }

    /// Enqueues the tasks that are due.
    pub(super) fn queue(&self, due: Due) {
        due.orphan.into_iter().for_each(|uid| self.queue.add(Task::Orphan(uid)));
        due.delete.into_iter().for_each(|uid| self.queue.add(Task::Delete(uid)));
        due.later.into_iter().for_each(|uid| self.queue.add_rate_limited(Task::Delete(uid)));
    }

    async fn delete(&self, uid: &Uid) -> Result<TaskOutcome, CollectError> {
        let Some(known) = self.graph.lock().known(uid) else { return Ok(TaskOutcome::Done) };
        if known.state.is_terminating && !known.state.deletes_dependents {
            return Ok(TaskOutcome::Done); // its dependents become due when it is gone
        }
        let placed = self.objects.place(&known.reference).await?;
        let Some(live) = placed.get().await? else {
            self.mark_absent(&known.reference, &placed);
            return Ok(TaskOutcome::Done);
        };
        if known.state.deletes_dependents {
            self.delete_dependents(uid, &placed).await?;
        } else {
            self.collect(&known, &live, &placed).await?;
        }
        // An owner that no monitor has observed is checked until it is observed or absent.
        Ok(if known.is_observed { TaskOutcome::Done } else { TaskOutcome::Retry })
    }

    fn mark_absent(&self, reference: &Reference, placed: &Placed) {
        let due = if placed.is_namespaced {
            self.graph.lock().found_absent(reference)
        } else {
            self.graph.lock().found_absent(&reference.of_cluster())
        };
        self.queue(due);
    }

    /// Completes a foreground deletion once no dependent blocks it; until then enqueues the dependents.
    async fn delete_dependents(&self, uid: &Uid, placed: &Placed) -> Result<(), CollectError> {
        let blocking = self.graph.lock().blocking(uid);
        if blocking.is_empty() {
            return Ok(placed.remove_finalizer(FOREGROUND).await?);
        }
        let idle = blocking.into_iter().filter(|(_, is_deleting)| !is_deleting);
        idle.for_each(|(uid, _)| self.queue.add(Task::Delete(uid)));
        Ok(())
    }

    /// Deletes an object if no owner is left.
    async fn collect(&self, known: &Known, live: &LiveMeta, placed: &Placed) -> Result<(), CollectError> {
        if live.owner_references.is_empty() {
            return Ok(());
        }
        let owners = self.classify(known, &live.owner_references).await?;
        if !owners.released.is_empty() {
            // Enqueued once more because of its other owners.
            placed.remove_owners(&owners.released).await?;
            self.queue.add(Task::Delete(known.reference.uid.clone()));
            return Ok(());
        }
        if owners.solid > 0 {
            let mut others = owners.dangling;
            others.extend(owners.waiting); // they would wait forever
            return if others.is_empty() { Ok(()) } else { Ok(placed.remove_owners(&others).await?) };
        }
        let (has_dependents, has_deleting) = self.graph.lock().owns(&known.reference.uid);
        let is_waited_for = !owners.waiting.is_empty() && has_dependents;
        if is_waited_for && has_deleting {
            placed.unblock_owners(live).await?; // breaks a cycle of owners that wait for each other
        }
        let policy = match () {
            () if is_waited_for => Propagation::Foreground,
            () if live.has(ORPHAN) => Propagation::Orphan,
            () if live.has(FOREGROUND) => Propagation::Foreground,
            () => Propagation::Background,
        };
        match placed.delete(live, policy).await {
            Err(error) if error.is_not_found() => self.mark_absent(&known.reference, placed),
            outcome => outcome?,
        }
        Ok(())
    }

    /// Queries the server for all owners (`collector.K1`).
    async fn classify<'a>(
        &self,
        known: &Known,
        owners: &'a [OwnerReference],
    ) -> Result<Owners<'a>, CollectError> {
        let mut found = Owners::default();
        for owner in owners {
            let uid = owner.uid.as_str();
            match self.find_owner(owner, &known.reference).await? {
                None if self.graph.lock().has_released(uid) => found.released.push(uid),
                None => found.dangling.push(uid),
                Some(live) if live.deletion_timestamp.is_some() && live.has(FOREGROUND) => {
                    found.waiting.push(uid);
                }
                Some(_) => found.solid += 1,
            }
        }
        Ok(found)
    }

    /// Returns an owner, or `None` if it does not exist.
    async fn find_owner(
        &self,
        owner: &OwnerReference,
        dependent: &Reference,
    ) -> Result<Option<LiveMeta>, CollectError> {
        let mut reference = {
            let mut graph = self.graph.lock();
            let of = graph.of(&owner.api_version, &owner.kind);
            let (name, uid) = (owner.name.as_str().into(), graph.uid(&owner.uid));
            let reference = Owner { of, name, uid, blocks: false }.seen_from(&dependent.key);
            if graph.is_absent(&reference) {
                return Ok(None);
            }
            reference
        };
        let placed = self.objects.place(&reference).await?;
        let live = placed.get().await?;
        if live.is_none() {
            if !placed.is_namespaced {
                reference = reference.of_cluster();
            }
            self.graph.lock().add_absent(reference);
        }
        Ok(live)
    }

    /// Removes the owner reference from all dependents of an object, then its `orphan` finalizer.
    async fn orphan(&self, uid: &Uid) -> Result<(), CollectError> {
        let Some((known, dependents)) = ({
            let mut graph = self.graph.lock();
            graph.release(uid.clone());
            graph.known(uid).map(|known| (known, graph.dependents(uid)))
        }) else {
            return Ok(());
        };
        stream::iter(dependents)
            .map(|dependent| self.orphan_dependent(dependent, uid))
            .buffer_unordered(MAX_PARALLEL)
            .try_collect::<()>()
            .await?;
        Ok(self.objects.place(&known.reference).await?.remove_finalizer(ORPHAN).await?)
    }

    async fn orphan_dependent(&self, dependent: Reference, owner: &Uid) -> Result<(), CollectError> {
        match self.objects.place(&dependent).await?.remove_owners(&[owner]).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => Ok(outcome?),
        }
    }
}

fn settle(item: Item<Task>, outcome: Result<TaskOutcome, CollectError>) {
    match outcome {
        Ok(TaskOutcome::Done) | Err(CollectError::NamespacedOwner) => item.forget(),
        Ok(TaskOutcome::Retry) => item.retry(),
        Err(error) => {
            let task = item.key();
            let chain = ErrorChain(&error);
            match &error {
                CollectError::Unmapped(_) => {
                    tracing::debug!(?task, error = %chain, "no REST mapping yet; retrying");
                }
                _ => tracing::warn!(?task, error = %chain, "failed to collect garbage; retrying"),
            }
            item.retry();
        }
    }
}
