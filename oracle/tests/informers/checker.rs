//! Checker: whether what a handler was told can be true.
//!
//! - C1 ordered: of a key, versions only rise; between two objects of one name the first goes.
//! - C2 unique: nothing is told twice.
//! - C3 continuous: `old` is what was told last.
//! - C4 complete: who has followed has in the end what the store has.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use watchkeeper_cache::delta::Delta;
use watchkeeper_core::{Object, ObjectKey};

/// How many entries of a key are shown where something is wrong.
const SHOWN: usize = 8;

/// What a handler was told, as far as it is needed to judge what it is told next.
#[derive(Debug, Default)]
pub(crate) struct History {
    keys: HashMap<ObjectKey, Told>,
    /// The first thing that was wrong.
    flaw: Option<Flaw>,
    pub(crate) entries: u64,
}

/// What was told of a key.
#[derive(Debug, Default)]
struct Told {
    /// What is there, for who has followed.
    known: Option<State>,
    /// No state may come that is not newer.
    newest: u64,
    last: VecDeque<Entry>,
}

/// A state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    uid: Box<str>,
    version: u64,
}

#[derive(Debug, Clone)]
enum Entry {
    Added(State),
    Updated(State, State),
    Deleted(State, Option<State>),
    Resync(State),
}

/// Something that cannot be.
#[derive(Debug, Clone)]
pub(crate) struct Flaw {
    pub(crate) key: ObjectKey,
    pub(crate) what: String,
    pub(crate) entries: Vec<String>,
}

impl From<&Arc<Object>> for State {
    fn from(object: &Arc<Object>) -> Self {
        let version =
            object.metadata.resource_version().as_u64().expect("the versions of this server are numbers");
        Self { uid: object.metadata.uid().into(), version }
    }
}

impl From<&Delta<Arc<Object>>> for Entry {
    fn from(delta: &Delta<Arc<Object>>) -> Self {
        match delta {
            Delta::Added { new, .. } => Self::Added(new.into()),
            Delta::Updated { old, new } => Self::Updated(old.into(), new.into()),
            Delta::Deleted { old, last } => Self::Deleted(old.into(), last.as_ref().map(State::from)),
            Delta::Resync(object) => Self::Resync(object.into()),
        }
    }
}

impl History {
    /// A handler was told this.
    pub(crate) fn note(&mut self, delta: &Delta<Arc<Object>>) {
        let key = delta.newest().metadata.key();
        let told = self.keys.entry(key.clone()).or_default();
        let entry = Entry::from(delta);
        let wrong = told.take(&entry);
        told.remember(entry);
        self.entries += 1;
        if let (Some(wrong), None) = (wrong, &self.flaw) {
            self.flaw = Some(told.flaw(key, wrong.to_owned()));
        }
    }

    /// What was wrong first.
    pub(crate) fn flaw(&self) -> Option<&Flaw> {
        self.flaw.as_ref()
    }

    /// Whether who has followed has these objects and no others (C4).
    pub(crate) fn comes_to<'a>(&self, objects: impl Iterator<Item = &'a Arc<Object>>) -> Result<(), Flaw> {
        let mut there = HashSet::new();
        for object in objects {
            let (key, state) = (object.metadata.key(), State::from(object));
            there.insert(key);
            let unheard = Told::default();
            let told = self.keys.get(key).unwrap_or(&unheard);
            if told.known.as_ref() != Some(&state) {
                return Err(told.flaw(key, format!("the store has {state}, and that was not told")));
            }
        }
        let known = |(key, told): &(&ObjectKey, &Told)| told.known.is_some() && !there.contains(key);
        match self.keys.iter().find(known) {
            None => Ok(()),
            Some((key, told)) => Err(told.flaw(key, "the store does not have it".to_owned())),
        }
    }
}

impl Told {
    /// Follows; returns what is wrong.
    fn take(&mut self, entry: &Entry) -> Option<&'static str> {
        let (before, newest) = (self.known.take(), self.newest);
        let (known, wrong) = match entry {
            Entry::Added(new) => {
                let wrong = match &before {
                    Some(_) => Some("what is there is added"),
                    None if new.version <= newest => Some("what is added is old"),
                    None => None,
                };
                (Some(new), wrong)
            }
            Entry::Updated(old, new) => {
                let wrong = match &before {
                    None => Some("what is not there is updated"),
                    Some(before) if before != old => Some("what is updated is not what was told last"),
                    Some(_) if old.uid != new.uid => Some("another object is no update"),
                    Some(_) if new.version <= newest => Some("an update is old"),
                    Some(_) => None,
                };
                (Some(new), wrong)
            }
            Entry::Deleted(old, last) => {
                let wrong = match (&before, last) {
                    // It may have been added and deleted before the handler looked.
                    (None, _) if old.version <= newest => Some("what is not there is deleted"),
                    (Some(before), _) if before != old => Some("what is deleted is not what was told last"),
                    (_, Some(last)) if last.uid != old.uid => Some("the last state is of another object"),
                    (_, Some(last)) if last.version <= old.version => Some("the last state is old"),
                    _ => None,
                };
                (None, wrong)
            }
            Entry::Resync(same) => {
                let wrong = (before.as_ref() != Some(same)).then_some("what is looked at again is not there");
                (Some(same), wrong)
            }
        };
        self.known = known.cloned();
        self.newest = newest.max(entry.version());
        wrong
    }

    fn remember(&mut self, entry: Entry) {
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back(entry);
    }

    fn flaw(&self, key: &ObjectKey, what: String) -> Flaw {
        Flaw { key: key.clone(), what, entries: self.last.iter().map(ToString::to_string).collect() }
    }
}

impl Entry {
    fn version(&self) -> u64 {
        match self {
            Self::Added(new) | Self::Updated(_, new) | Self::Deleted(_, Some(new)) => new.version,
            Self::Deleted(old, None) | Self::Resync(old) => old.version,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.uid, self.version)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(new) => write!(f, "added {new}"),
            Self::Updated(old, new) => write!(f, "updated {old} -> {new}"),
            Self::Deleted(old, Some(last)) => write!(f, "deleted {old}, last {last}"),
            Self::Deleted(old, None) => write!(f, "deleted {old}, unseen"),
            Self::Resync(same) => write!(f, "resync {same}"),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  {}", self.key, self.what, self.entries.join("\n  "))
    }
}

mod tests {
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    use super::*;

    fn at(uid: &str, version: u64) -> Arc<Object> {
        let mut head = ObjectMetaBuilder::default();
        head.namespace("x").name("a").uid(uid).version(&version.to_string());
        Arc::new(Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") })
    }

    fn added(new: Arc<Object>) -> Delta<Arc<Object>> {
        Delta::Added { new, initial: false }
    }

    fn updated(old: Arc<Object>, new: Arc<Object>) -> Delta<Arc<Object>> {
        Delta::Updated { old, new }
    }

    fn deleted(old: Arc<Object>, last: Option<Arc<Object>>) -> Delta<Arc<Object>> {
        Delta::Deleted { old, last }
    }

    fn flaw(deltas: &[Delta<Arc<Object>>]) -> Option<String> {
        let mut history = History::default();
        deltas.iter().for_each(|delta| history.note(delta));
        history.flaw().map(|flaw| flaw.what.clone())
    }

    #[test]
    fn a_history_that_can_be_is_taken() {
        let deltas = [
            added(at("u", 1)),
            updated(at("u", 1), at("u", 3)),
            Delta::Resync(at("u", 3)),
            deleted(at("u", 3), Some(at("u", 4))),
            added(at("u", 5)), // it matches again
            deleted(at("u", 5), None),
            deleted(at("w", 6), Some(at("w", 7))), // it came and went between two looks
            added(at("v", 9)),
        ];
        let mut history = History::default();
        deltas.iter().for_each(|delta| history.note(delta));
        assert!(history.flaw().is_none());
        history.comes_to([&at("v", 9)].into_iter()).unwrap();
        assert!(history.comes_to([&at("v", 8)].into_iter()).is_err());
        assert!(history.comes_to([].into_iter()).is_err());
    }

    #[test]
    fn a_history_that_cannot_be_is_not() {
        let one = added(at("u", 1));
        let gone = deleted(at("u", 1), Some(at("u", 5)));
        for wrong in [
            vec![one.clone(), one.clone()],
            vec![one.clone(), added(at("v", 2))],
            vec![one.clone(), gone.clone(), added(at("u", 5))],
            vec![one.clone(), gone.clone(), added(at("v", 4))],
            vec![updated(at("u", 1), at("u", 2))],
            vec![one.clone(), updated(at("u", 1), at("u", 1))],
            vec![one.clone(), updated(at("u", 2), at("u", 3))],
            vec![one.clone(), updated(at("u", 1), at("v", 3))],
            vec![one.clone(), updated(at("u", 1), at("u", 3)), updated(at("u", 3), at("u", 2))],
            vec![one.clone(), gone.clone(), gone],
            vec![one.clone(), deleted(at("u", 1), None), deleted(at("u", 1), None)],
            vec![one.clone(), deleted(at("u", 2), None)],
            vec![one.clone(), deleted(at("u", 1), Some(at("u", 1)))],
            vec![one.clone(), deleted(at("u", 1), Some(at("v", 2)))],
            vec![Delta::Resync(at("u", 1))],
            vec![one, Delta::Resync(at("u", 2))],
        ] {
            assert!(flaw(&wrong).is_some(), "{wrong:?}");
        }
    }
}
