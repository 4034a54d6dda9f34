//! Things: what is wanted of each, and what was done about it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use watchkeeper_cache::source::{Page, from_closures};
use watchkeeper_controller::Failure;
use watchkeeper_core::{
    Encoded, HeadBuilder, ListEnd, ListWatch, Object, ObjectKey, Status, WatchError, WatchEvent, WatchFrom,
    WatchRequest, WatchStream,
};

use crate::random::Random;

/// How many names there are.
const NAMES: u64 = 40;

/// All things. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Things {
    state: Arc<Mutex<State>>,
    /// Tells of every change: how many there were.
    told: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    /// Which generation is wanted of each.
    wanted: BTreeMap<ObjectKey, Object>,
    /// All changes there ever were: the first is version 1.
    log: Vec<WatchEvent>,
    /// Which generation was brought about of each.
    done: BTreeMap<ObjectKey, i64>,
    /// The greatest token that anything was done with.
    fence: u32,
    refused: u64,
    /// Which keys are looked at.
    busy: BTreeSet<ObjectKey>,
    overlaps: Vec<String>,
}

/// Somebody looks at a key, until this is dropped.
pub(crate) struct Busy {
    things: Things,
    key: ObjectKey,
}

impl Things {
    /// Wants another generation of a thing, or that it goes.
    pub(crate) fn change(&self, random: &Random) {
        let mut state = self.state.lock();
        let name = format!("thing-{}", random.below(NAMES));
        let version = state.log.len() as u64 + 1;
        let mut head = HeadBuilder::default();
        head.namespace("x").name(&name).uid(&name).version(&version.to_string());
        head.generation(i64::try_from(version).unwrap()); // of no other thing
        let object = Object { head: head.finish(), encoded: Encoded::json(*b"{}") };
        let key = object.head.key().clone();
        let event = match state.wanted.contains_key(&key) {
            true if random.below(4) == 0 => {
                state.wanted.remove(&key);
                state.done.remove(&key); // goes with it, as a status does
                WatchEvent::Deleted(object)
            }
            was_there => {
                state.wanted.insert(key, object.clone());
                if was_there { WatchEvent::Modified(object) } else { WatchEvent::Added(object) }
            }
        };
        state.log.push(event);
        drop(state);
        self.told.send_modify(|changes| *changes += 1);
    }

    /// Somebody looks at a key.
    pub(crate) fn begin(&self, key: &ObjectKey, token: u32) -> Busy {
        let mut state = self.state.lock();
        if !state.busy.insert(key.clone()) {
            state.overlaps.push(format!("{key} with token {token}"));
        }
        Busy { things: self.clone(), key: key.clone() }
    }

    /// Brings a generation of a thing about. It is refused if the thing is gone, or a later leader has done anything
    /// before.
    pub(crate) fn bring_about(&self, key: &ObjectKey, generation: i64, token: u32) -> Result<(), Failure> {
        let mut state = self.state.lock();
        if token < state.fence {
            state.refused += 1;
            return Err(Failure::retry("somebody else leads"));
        }
        state.fence = token;
        if !state.wanted.contains_key(key) {
            return Err(Failure::retry("it is gone"));
        }
        state.done.insert(key.clone(), generation);
        drop(state);
        self.told.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// What is not as it is wanted.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let state = self.state.lock();
        let wanted = state.wanted.iter().map(|(key, object)| (key, object.head.generation()));
        let wanted: BTreeSet<_> = wanted.collect();
        let done: BTreeSet<_> = state.done.iter().map(|(key, generation)| (key, *generation)).collect();
        wanted.symmetric_difference(&done).map(|(key, generation)| format!("{key}: {generation}")).collect()
    }

    /// Waits until all is as it is wanted.
    pub(crate) async fn settled(&self) {
        let _ = self.told.subscribe().wait_for(|_| self.wrong().is_empty()).await;
    }

    /// Keys that two have looked at at once.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        self.state.lock().overlaps.clone()
    }

    /// How often a former leader came too late.
    pub(crate) fn refused(&self) -> u64 {
        self.state.lock().refused
    }

    /// The way of one process to what is wanted: slow, and broken off now and then.
    pub(crate) fn source(&self, random: &Random) -> impl ListWatch + use<> {
        let (listed, watched) = ((self.clone(), random.clone()), (self.clone(), random.clone()));
        let list = move |_| {
            let (things, random) = listed.clone();
            async move {
                sleep(Duration::from_millis(random.below(300))).await;
                let state = things.state.lock();
                let version = (state.log.len() as u64).into();
                let end = ListEnd::new(version);
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
        let told = self.told.subscribe();
        let events = stream::unfold((self, told, from), move |(things, mut told, at)| {
            let random = random.clone();
            async move {
                sleep(Duration::from_millis(random.below(300))).await;
                let place = usize::try_from(at).ok()?;
                told.wait_for(|_| things.state.lock().log.len() > place).await.ok()?;
                let event = things.state.lock().log[place].clone();
                Some((Ok(event), (things, told, at + 1)))
            }
        });
        let end = move || match expires {
            true => WatchError::Expired(Box::new(Status::expired("too old"))),
            false => WatchError::Interrupted("cut off".into()),
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
