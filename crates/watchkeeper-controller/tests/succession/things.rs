//! Things: desired and actual generation of a set of objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_controller::Error;
use watchkeeper_core::{
    Encoded, ListMeta, ListWatch, Object, ObjectKey, ObjectMetaBuilder, Status, WatchError, WatchEvent,
    WatchFrom, WatchRequest, WatchStream,
};

use crate::random::Random;

/// Number of object names.
const NAMES: u64 = 40;

/// All objects. Clones share their state.
#[derive(Clone, Default)]
pub(crate) struct Things {
    state: Arc<Mutex<State>>,
    /// Counts changes, to wake watchers.
    changes: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    /// The desired objects, with their generation.
    wanted: BTreeMap<ObjectKey, Object>,
    /// All changes so far; the first has version 1.
    log: Vec<WatchEvent>,
    /// The actual generation of each object.
    done: BTreeMap<ObjectKey, i64>,
    /// The greatest fencing token used for a write.
    fence: u32,
    refused: u64,
    /// Keys being reconciled.
    busy: BTreeSet<ObjectKey>,
    overlaps: Vec<String>,
}

/// Marks a key as being reconciled until it is dropped.
pub(crate) struct Busy {
    things: Things,
    key: ObjectKey,
}

impl Things {
    /// Updates or deletes a random object.
    pub(crate) fn change(&self, random: &Random) {
        let mut state = self.state.lock();
        let name = format!("thing-{}", random.below(NAMES));
        let version = state.log.len() as u64 + 1;
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name(&name).uid(&name).version(&version.to_string());
        head.generation(i64::try_from(version).unwrap()); // unique among all objects
        let object = Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") };
        let key = object.metadata.key().clone();
        let event = match state.wanted.contains_key(&key) {
            true if random.below(4) == 0 => {
                state.wanted.remove(&key);
                state.done.remove(&key); // deleted with the object, as a status is
                WatchEvent::Deleted(object)
            }
            was_there => {
                state.wanted.insert(key, object.clone());
                if was_there { WatchEvent::Modified(object) } else { WatchEvent::Added(object) }
            }
        };
        state.log.push(event);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Marks a key as being reconciled.
    pub(crate) fn begin(&self, key: &ObjectKey, token: u32) -> Busy {
        let mut state = self.state.lock();
        if !state.busy.insert(key.clone()) {
            state.overlaps.push(format!("{key} with token {token}"));
        }
        Busy { things: self.clone(), key: key.clone() }
    }

    /// Writes the actual generation of an object. Fails if the object is gone, or a later leader has written
    /// before.
    pub(crate) fn write(&self, key: &ObjectKey, generation: i64, token: u32) -> Result<(), Error> {
        let mut state = self.state.lock();
        if token < state.fence {
            state.refused += 1;
            return Err("not the leader".into());
        }
        state.fence = token;
        if !state.wanted.contains_key(key) {
            return Err("not found".into());
        }
        state.done.insert(key.clone(), generation);
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Returns the objects whose actual generation is not the desired one.
    pub(crate) fn differences(&self) -> Vec<String> {
        let state = self.state.lock();
        let wanted = state.wanted.iter().map(|(key, object)| (key, object.metadata.generation()));
        let wanted: BTreeSet<_> = wanted.collect();
        let done: BTreeSet<_> = state.done.iter().map(|(key, generation)| (key, *generation)).collect();
        wanted.symmetric_difference(&done).map(|(key, generation)| format!("{key}: {generation}")).collect()
    }

    /// Waits until all objects have their desired generation.
    pub(crate) async fn settled(&self) {
        let _ = self.changes.subscribe().wait_for(|_| self.differences().is_empty()).await;
    }

    /// Returns the keys that were reconciled twice at once.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        self.state.lock().overlaps.clone()
    }

    /// Returns the number of rejected writes by former leaders.
    pub(crate) fn refused(&self) -> u64 {
        self.state.lock().refused
    }

    /// Returns one process's source of objects: slow, with interrupted watches.
    pub(crate) fn source(&self, random: &Random) -> impl ListWatch + use<> {
        let (listed, watched) = ((self.clone(), random.clone()), (self.clone(), random.clone()));
        let list = move |_| {
            let (things, random) = listed.clone();
            async move {
                sleep(Duration::from_millis(random.below(300))).await;
                let state = things.state.lock();
                let version = (state.log.len() as u64).into();
                let end = ListMeta::new(version);
                Ok(Page { items: state.wanted.values().cloned().collect(), end })
            }
        };
        let watch = move |request| {
            let (things, random) = watched.clone();
            async move { Ok(things.watch(request, random)) }
        };
        from_closures(list, watch)
    }

    fn watch(self, request: WatchRequest, random: Random) -> WatchStream {
        let from = match request.from {
            WatchFrom::After(version) => version.as_u64().unwrap_or_default(),
            WatchFrom::InitialEvents { .. } => 0,
        };
        let ends_after = Duration::from_secs(random.below(120));
        let expires = random.below(3) == 0;
        let changes = self.changes.subscribe();
        let events = stream::unfold((self, changes, from), move |(things, mut changes, at)| {
            let random = random.clone();
            async move {
                sleep(Duration::from_millis(random.below(300))).await;
                let place = usize::try_from(at).ok()?;
                changes.wait_for(|_| things.state.lock().log.len() > place).await.ok()?;
                let event = things.state.lock().log[place].clone();
                Some((Ok(event), (things, changes, at + 1)))
            }
        });
        let end = move || {
            if expires {
                WatchError::Expired(Box::new(Status::expired("too old")))
            } else {
                WatchError::Interrupted("cut off".into())
            }
        };
        let end = async move { Err(end()) };
        events.take_until(sleep(ends_after)).chain(stream::once(end)).boxed()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.things.state.lock().busy.remove(&self.key);
    }
}
