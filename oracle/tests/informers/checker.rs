//! Checker: verifies the sequence of notifications that a handler received.
//!
//! - `checker.C1` ordered: the versions of a key only increase, and an object is deleted before another object of the
//!   same name is added.
//! - `checker.C2` unique: no notification is delivered twice.
//! - `checker.C3` continuous: `old` is the state of the previous notification.
//! - `checker.C4` complete: the notifications add up to the contents of the store.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;

use watchkeeper_cache::delta::Delta;
use watchkeeper_core::{Object, ObjectKey};

/// Number of recent notifications of a key in a failure message.
const SHOWN: usize = 8;

/// The notifications that a handler has received, as far as the check of the next one needs them.
#[derive(Debug, Default)]
pub(crate) struct History {
    keys: HashMap<ObjectKey, KeyHistory>,
    /// The first violation.
    violation: Option<Violation>,
    pub(crate) notifications: u64,
}

/// The notifications that a handler has received for one key.
#[derive(Debug, Default)]
struct KeyHistory {
    /// The current state of the object according to the notifications; `None` if it does not exist.
    current: Option<State>,
    /// The newest version so far: later states must be newer.
    newest: u64,
    recent: VecDeque<Entry>,
}

/// A version of an object.
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

/// A broken guarantee.
#[derive(Debug, Clone)]
pub(crate) struct Violation {
    pub(crate) key: ObjectKey,
    pub(crate) message: String,
    /// The last notifications of the key.
    pub(crate) recent: Vec<String>,
}

impl From<&Arc<Object>> for State {
    fn from(object: &Arc<Object>) -> Self {
        let version = object
            .metadata
            .resource_version()
            .as_u64()
            .expect("resource versions of kube-apiserver are numbers");
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
    /// Records a notification and checks it against the previous ones of its key.
    pub(crate) fn push(&mut self, delta: &Delta<Arc<Object>>) {
        let key = delta.newest().metadata.key();
        let of_key = self.keys.entry(key.clone()).or_default();
        let entry = Entry::from(delta);
        let error = of_key.apply(&entry);
        of_key.remember(entry);
        self.notifications += 1;
        if let (Some(error), None) = (error, &self.violation) {
            self.violation = Some(of_key.violation(key, error.to_owned()));
        }
    }

    /// Returns the first violation.
    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Checks that the notifications add up to exactly these objects (`checker.C4`).
    pub(crate) fn check_complete<'a>(
        &self,
        objects: impl Iterator<Item = &'a Arc<Object>>,
    ) -> Result<(), Violation> {
        let mut stored = HashSet::new();
        for object in objects {
            let (key, state) = (object.metadata.key(), State::from(object));
            stored.insert(key);
            let empty = KeyHistory::default();
            let of_key = self.keys.get(key).unwrap_or(&empty);
            if of_key.current.as_ref() != Some(&state) {
                return Err(
                    of_key.violation(key, format!("the handler did not receive {state} of the store"))
                );
            }
        }
        let is_extra =
            |(key, of_key): &(&ObjectKey, &KeyHistory)| of_key.current.is_some() && !stored.contains(key);
        match self.keys.iter().find(is_extra) {
            None => Ok(()),
            Some((key, of_key)) => {
                Err(of_key.violation(key, "the handler did not receive the deletion".to_owned()))
            }
        }
    }
}

impl KeyHistory {
    /// Applies a notification. Returns the guarantee that it breaks, if any.
    fn apply(&mut self, entry: &Entry) -> Option<&'static str> {
        let (before, newest) = (self.current.take(), self.newest);
        let (current, error) = match entry {
            Entry::Added(new) => {
                let error = match &before {
                    Some(_) => Some("added an object that exists"),
                    None if new.version <= newest => Some("added an old version"),
                    None => None,
                };
                (Some(new), error)
            }
            Entry::Updated(old, new) => {
                let error = match &before {
                    None => Some("updated an object that does not exist"),
                    Some(before) if before != old => Some("`old` of an update is not the previous state"),
                    Some(_) if old.uid != new.uid => Some("updated to another UID"),
                    Some(_) if new.version <= newest => Some("updated to an old version"),
                    Some(_) => None,
                };
                (Some(new), error)
            }
            Entry::Deleted(old, last) => {
                let error = match (&before, last) {
                    // The object may have been added and deleted before the handler ran.
                    (None, _) if old.version <= newest => Some("deleted an object that does not exist"),
                    (Some(before), _) if before != old => {
                        Some("`old` of a deletion is not the previous state")
                    }
                    (_, Some(last)) if last.uid != old.uid => Some("`last` has another UID than `old`"),
                    (_, Some(last)) if last.version <= old.version => Some("`last` is not newer than `old`"),
                    _ => None,
                };
                (None, error)
            }
            Entry::Resync(same) => {
                let error = (before.as_ref() != Some(same)).then_some("resync is not of the current state");
                (Some(same), error)
            }
        };
        self.current = current.cloned();
        self.newest = newest.max(entry.version());
        error
    }

    fn remember(&mut self, entry: Entry) {
        if self.recent.len() == SHOWN {
            self.recent.pop_front();
        }
        self.recent.push_back(entry);
    }

    fn violation(&self, key: &ObjectKey, message: String) -> Violation {
        let recent = self.recent.iter().map(ToString::to_string).collect();
        Violation { key: key.clone(), message, recent }
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
            Self::Deleted(old, None) => write!(f, "deleted {old}, last state unknown"),
            Self::Resync(same) => write!(f, "resync {same}"),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  {}", self.key, self.message, self.recent.join("\n  "))
    }
}

mod tests {
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    use super::*;

    fn at(uid: &str, version: u64) -> Arc<Object> {
        let mut metadata = ObjectMetaBuilder::default();
        metadata.namespace("x").name("a").uid(uid).version(&version.to_string());
        Arc::new(Object { metadata: metadata.finish(), encoded: Encoded::json(*b"{}") })
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

    fn violation(deltas: &[Delta<Arc<Object>>]) -> Option<String> {
        let mut history = History::default();
        deltas.iter().for_each(|delta| history.push(delta));
        history.violation().map(|violation| violation.message.clone())
    }

    #[test]
    fn a_valid_history_passes() {
        let deltas = [
            added(at("u", 1)),
            updated(at("u", 1), at("u", 3)),
            Delta::Resync(at("u", 3)),
            deleted(at("u", 3), Some(at("u", 4))),
            added(at("u", 5)), // it matches the selector again
            deleted(at("u", 5), None),
            deleted(at("w", 6), Some(at("w", 7))), // added and deleted before the handler ran
            added(at("v", 9)),
        ];
        let mut history = History::default();
        deltas.iter().for_each(|delta| history.push(delta));
        assert!(history.violation().is_none());
        history.check_complete([&at("v", 9)].into_iter()).unwrap();
        assert!(history.check_complete([&at("v", 8)].into_iter()).is_err());
        assert!(history.check_complete([].into_iter()).is_err());
    }

    #[test]
    fn an_invalid_history_is_reported() {
        let add = added(at("u", 1));
        let delete = deleted(at("u", 1), Some(at("u", 5)));
        for invalid in [
            vec![add.clone(), add.clone()],
            vec![add.clone(), added(at("v", 2))],
            vec![add.clone(), delete.clone(), added(at("u", 5))],
            vec![add.clone(), delete.clone(), added(at("v", 4))],
            vec![updated(at("u", 1), at("u", 2))],
            vec![add.clone(), updated(at("u", 1), at("u", 1))],
            vec![add.clone(), updated(at("u", 2), at("u", 3))],
            vec![add.clone(), updated(at("u", 1), at("v", 3))],
            vec![add.clone(), updated(at("u", 1), at("u", 3)), updated(at("u", 3), at("u", 2))],
            vec![add.clone(), delete.clone(), delete],
            vec![add.clone(), deleted(at("u", 1), None), deleted(at("u", 1), None)],
            vec![add.clone(), deleted(at("u", 2), None)],
            vec![add.clone(), deleted(at("u", 1), Some(at("u", 1)))],
            vec![add.clone(), deleted(at("u", 1), Some(at("v", 2)))],
            vec![Delta::Resync(at("u", 1))],
            vec![add, Delta::Resync(at("u", 2))],
        ] {
            assert!(violation(&invalid).is_some(), "{invalid:?}");
        }
    }
}
