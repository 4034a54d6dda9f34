//! Collector: decides what is garbage, and has it deleted.
//!
//! - K1: nothing is deleted but by uid, and after the server itself has said that no owner is there.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use watchkeeper_client::dynamic::Propagation;
use watchkeeper_workqueue::{Item, WorkQueue};

use super::graph::{Due, Graph, Known};
use super::live::{FOREGROUND, LiveMeta, ORPHAN, Objects, Placed, Trouble};
use super::reference::{Owner, Reference, Uid};
use crate::view::OwnerReference;

/// How many dependents are let go at once.
const AT_A_TIME: usize = 20;

/// What is to be done about an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Task {
    /// To look whether it is garbage, or can go.
    Delete(Uid),
    /// To let its dependents go.
    Orphan(Uid),
}

/// What all workers share.
pub(super) struct Collector {
    pub(super) graph: Mutex<Graph>,
    pub(super) objects: Objects,
    pub(super) queue: WorkQueue<Task>,
}

/// What became of a task.
enum Ended {
    Done,
    Again,
}

/// The owners of an object, by what the server says of them.
#[derive(Default)]
struct Owners<'a> {
    /// They are there.
    solid: usize,
    /// They are not.
    dangling: Vec<&'a str>,
    /// They are not, and have let their dependents go before.
    released: Vec<&'a str>,
    /// They wait for their dependents to go.
    waiting: Vec<&'a str>,
}

impl Collector {
    /// Does one task after the other, until the queue ends.
    pub(super) async fn work(&self) {
        while let Some(item) = self.queue.get().await {
            let outcome = match item.key() {
                Task::Delete(uid) => self.delete(&uid.clone()).await,
                Task::Orphan(uid) => self.orphan(&uid.clone()).await.map(|()| Ended::Done),
            };
            settle(item, outcome);
        }
    }

    /// Has those worked on that are due.
    pub(super) fn queue(&self, due: Due) {
        due.orphan.into_iter().for_each(|uid| self.queue.add(Task::Orphan(uid)));
        due.delete.into_iter().for_each(|uid| self.queue.add(Task::Delete(uid)));
        due.later.into_iter().for_each(|uid| self.queue.add_limited(Task::Delete(uid)));
    }

    async fn delete(&self, uid: &Uid) -> Result<Ended, Trouble> {
        let Some(known) = self.graph.lock().known(uid) else { return Ok(Ended::Done) };
        if known.state.is_going && !known.state.deletes_dependents {
            return Ok(Ended::Done); // it goes, and then its dependents are due
        }
        let placed = self.objects.place(&known.reference).await?;
        let Some(live) = placed.get().await? else {
            self.is_absent(&known.reference, &placed);
            return Ok(Ended::Done);
        };
        match known.state.deletes_dependents {
            true => self.delete_dependents(uid, &placed).await?,
            false => self.collect(&known, &live, &placed).await?,
        }
        // Who was not seen is looked for until he is, or is not there.
        Ok(if known.is_observed { Ended::Done } else { Ended::Again })
    }

    fn is_absent(&self, reference: &Reference, placed: &Placed) {
        let due = match placed.is_namespaced {
            true => self.graph.lock().found_absent(reference),
            false => self.graph.lock().found_absent(&reference.of_cluster()),
        };
        self.queue(due);
    }

    /// Lets go an object whose dependents had to go first, or sees to these.
    async fn delete_dependents(&self, uid: &Uid, placed: &Placed) -> Result<(), Trouble> {
        let blocking = self.graph.lock().blocking(uid);
        if blocking.is_empty() {
            return Ok(placed.remove_finalizer(FOREGROUND).await?);
        }
        let idle = blocking.into_iter().filter(|(_, is_deleting)| !is_deleting);
        idle.for_each(|(uid, _)| self.queue.add(Task::Delete(uid)));
        Ok(())
    }

    /// Deletes an object if no owner is left.
    async fn collect(&self, known: &Known, live: &LiveMeta, placed: &Placed) -> Result<(), Trouble> {
        if live.owner_references.is_empty() {
            return Ok(());
        }
        let owners = self.classify(known, &live.owner_references).await?;
        if !owners.released.is_empty() {
            // Its change comes back, and it is due once more for the sake of its other owners.
            placed.remove_owners(&owners.released).await?;
            self.queue.add(Task::Delete(known.reference.uid.clone()));
            return Ok(());
        }
        if owners.solid > 0 {
            let mut others = owners.dangling;
            others.extend(owners.waiting); // they would wait for ever
            return match others.is_empty() {
                true => Ok(()),
                false => Ok(placed.remove_owners(&others).await?),
            };
        }
        let (has_dependents, has_deleting) = self.graph.lock().owns(&known.reference.uid);
        let is_waited_for = !owners.waiting.is_empty() && has_dependents;
        if is_waited_for && has_deleting {
            placed.unblock_owners(live).await?; // they may wait for each other
        }
        let policy = match () {
            () if is_waited_for => Propagation::Foreground,
            () if live.has(ORPHAN) => Propagation::Orphan,
            () if live.has(FOREGROUND) => Propagation::Foreground,
            () => Propagation::Background,
        };
        match placed.delete(live, policy).await {
            Err(error) if error.is_not_found() => self.is_absent(&known.reference, placed),
            outcome => outcome?,
        }
        Ok(())
    }

    /// Asks the server for all owners (K1).
    async fn classify<'a>(&self, known: &Known, owners: &'a [OwnerReference]) -> Result<Owners<'a>, Trouble> {
        let mut found = Owners::default();
        for owner in owners {
            let uid = owner.uid.as_str();
            match self.look_for(owner, &known.reference).await? {
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

    /// An owner; `None` where it is not there.
    async fn look_for(
        &self,
        owner: &OwnerReference,
        dependent: &Reference,
    ) -> Result<Option<LiveMeta>, Trouble> {
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

    /// Lets the dependents of an object go, and then itself.
    async fn orphan(&self, uid: &Uid) -> Result<(), Trouble> {
        let Some((known, dependents)) = ({
            let mut graph = self.graph.lock();
            graph.release(uid.clone());
            graph.known(uid).map(|known| (known, graph.dependents(uid)))
        }) else {
            return Ok(());
        };
        stream::iter(dependents)
            .map(|dependent| self.let_go(dependent, uid))
            .buffer_unordered(AT_A_TIME)
            .try_collect::<()>()
            .await?;
        Ok(self.objects.place(&known.reference).await?.remove_finalizer(ORPHAN).await?)
    }

    async fn let_go(&self, dependent: Reference, owner: &Uid) -> Result<(), Trouble> {
        match self.objects.place(&dependent).await?.remove_owners(&[owner]).await {
            Err(error) if error.is_not_found() => Ok(()),
            outcome => Ok(outcome?),
        }
    }
}

fn settle(item: Item<Task>, outcome: Result<Ended, Trouble>) {
    match outcome {
        Ok(Ended::Done) | Err(Trouble::NamespacedOwner) => item.forget(),
        Ok(Ended::Again) => item.retry(),
        Err(trouble) => {
            let task = item.key();
            match &trouble {
                Trouble::Unmapped(_) => tracing::debug!(?task, %trouble, "tried again"),
                _ => tracing::warn!(?task, %trouble, "garbage was not collected, and is tried again"),
            }
            item.retry();
        }
    }
}
