//! Events: one change, as all watchers share it.
//!
//! - V1: what an event says is encoded once a format, by whichever watcher comes first: with its frame, so
//!   that the others copy nothing.
//! - V2: encodings belong to the event, not to the object: a history forgets them soon after the
//!   event, while the object may stay for years.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use watchkeeper_core::{Encoding, EventKind, ObjectKey};

use super::{Revision, Stored};

/// A change of one object.
pub struct Event {
    revision: Revision,
    change: Change,
    /// Filled when the first watcher asks.
    hot: OnceLock<Box<Hot>>,
}

enum Change {
    Created(Arc<Stored>),
    Updated { previous: Arc<Stored>, current: Arc<Stored> },
    Deleted(Arc<Stored>),
}

/// Which of the two states of an event a watcher shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// What is there now: in ADDED and MODIFIED.
    Current,
    /// What was there before, under the revision of the event: in DELETED, be it that the object is
    /// gone or that it has left the selector.
    Departed,
}

/// As what a watcher tells an event: the same change can be an addition to one and an update to another,
/// by their selectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
}

impl Told {
    /// Which state it shows.
    pub fn shown(self) -> Shown {
        match self {
            Self::Added | Self::Modified => Shown::Current,
            Self::Deleted => Shown::Departed,
        }
    }
}

impl From<Told> for EventKind {
    fn from(told: Told) -> Self {
        match told {
            Told::Added => Self::Added,
            Told::Modified => Self::Modified,
            Told::Deleted => Self::Deleted,
        }
    }
}

/// What watchers have made of an event.
#[derive(Default)]
struct Hot {
    departed: OnceLock<Arc<Stored>>,
    /// By kind and format.
    encodings: [OnceLock<Bytes>; 6],
    /// V1: held while encoding.
    encoding: Mutex<()>,
}

impl Event {
    /// A write, at the revision of `current`.
    pub(super) fn put(previous: Option<Arc<Stored>>, current: Arc<Stored>) -> Self {
        let revision = current.modified();
        let change = match previous {
            Some(previous) => Change::Updated { previous, current },
            None => Change::Created(current),
        };
        Self { revision, change, hot: OnceLock::new() }
    }

    /// A deletion.
    pub(super) fn delete(previous: Arc<Stored>, revision: Revision) -> Self {
        Self { revision, change: Change::Deleted(previous), hot: OnceLock::new() }
    }

    /// The revision of the change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Which object has changed.
    pub fn key(&self) -> &ObjectKey {
        match &self.change {
            Change::Created(stored) | Change::Updated { current: stored, .. } | Change::Deleted(stored) => {
                stored.key()
            }
        }
    }

    /// What was there before, under its own revision; `None` where the object is new.
    pub fn previous(&self) -> Option<&Arc<Stored>> {
        match &self.change {
            Change::Created(_) => None,
            Change::Updated { previous, .. } | Change::Deleted(previous) => Some(previous),
        }
    }

    /// What is there now; `None` where the object was deleted.
    pub fn current(&self) -> Option<&Arc<Stored>> {
        match &self.change {
            Change::Created(current) | Change::Updated { current, .. } => Some(current),
            Change::Deleted(_) => None,
        }
    }

    /// What was there before, under the revision of this event: see [`Shown::Departed`]. It is made
    /// when first asked for.
    pub fn departed(&self) -> Option<&Arc<Stored>> {
        let previous = self.previous()?;
        Some(self.hot().departed.get_or_init(|| Arc::new(previous.under(self.revision))))
    }

    /// One of the states of this event.
    pub fn state(&self, shown: Shown) -> Option<&Arc<Stored>> {
        match shown {
            Shown::Current => self.current(),
            Shown::Departed => self.departed(),
        }
    }

    /// This event as a watcher tells it, in one of the formats: encoded by `encode` if nobody has yet
    /// (V1). `encode` must not ask this event for an encoding. `None` where there is no such state.
    ///
    /// # Errors
    /// Those of `encode`, which is then tried again by whoever asks next.
    pub fn encoded<E>(
        &self,
        told: Told,
        encoding: Encoding,
        encode: impl FnOnce(&Stored) -> Result<Bytes, E>,
    ) -> Result<Option<Bytes>, E> {
        let Some(stored) = self.state(told.shown()) else { return Ok(None) };
        let hot = self.hot();
        let slot = &hot.encodings[2 * told as usize + usize::from(encoding == Encoding::Protobuf)];
        if let Some(bytes) = slot.get() {
            return Ok(Some(bytes.clone()));
        }
        let _encoding = hot.encoding.lock(); // V1
        if let Some(bytes) = slot.get() {
            return Ok(Some(bytes.clone()));
        }
        let bytes = encode(stored)?;
        Ok(Some(slot.get_or_init(|| bytes).clone()))
    }

    /// The same event without what watchers have made of it, unless they have made nothing (V2).
    pub(super) fn cooled(&self) -> Option<Self> {
        self.hot.get()?;
        Some(match &self.change {
            Change::Created(current) => Self::put(None, current.clone()),
            Change::Updated { previous, current } => Self::put(Some(previous.clone()), current.clone()),
            Change::Deleted(previous) => Self::delete(previous.clone(), self.revision),
        })
    }

    /// The bytes that the history alone keeps alive: this event and the state that it replaced.
    pub(super) fn history_bytes(&self) -> usize {
        size_of::<Self>() + self.previous().map_or(0, |previous| previous.heap_bytes())
    }

    fn hot(&self) -> &Hot {
        self.hot.get_or_init(Box::default)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.change {
            Change::Created(_) => "created",
            Change::Updated { .. } => "updated",
            Change::Deleted(_) => "deleted",
        };
        write!(f, "{word} {}{:?}", self.key(), self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Unversioned;
    use std::convert::Infallible;

    fn stored(revision: u64) -> Arc<Stored> {
        let value = Unversioned::from_json(br#"{"metadata":{"name":"a"}}"#).unwrap();
        Arc::new(value.commit(Revision::new(2), Revision::new(revision)))
    }

    fn never(_: &Stored) -> Result<Bytes, Infallible> {
        panic!("V1: encoded already, or no such state")
    }

    #[test]
    fn each_state_is_encoded_once_a_format_and_forgotten_when_the_event_is_cold() {
        let event = Event::put(Some(stored(7)), stored(9));
        for told in [Told::Added, Told::Modified, Told::Deleted] {
            for encoding in [Encoding::Json, Encoding::Protobuf] {
                let text = format!("{told:?} in {encoding}");
                let encode = |stored: &Stored| {
                    assert_eq!(stored.object().head.version(), &9.into());
                    Ok::<_, Infallible>(Bytes::from(text.clone()))
                };
                assert_eq!(event.encoded(told, encoding, encode), Ok(Some(Bytes::from(text.clone()))));
                assert_eq!(event.encoded(told, encoding, never), Ok(Some(Bytes::from(text.clone()))));
            }
        }
        assert_eq!(event.previous().unwrap().modified(), Revision::new(7));
        let cold = event.cooled().unwrap();
        assert_eq!((cold.revision(), cold.previous()), (event.revision(), event.previous()));
        assert!(cold.cooled().is_none());
        assert_eq!(cold.encoded(Told::Added, Encoding::Json, |_| Err(())), Err(()));
    }

    #[test]
    fn a_failed_encoding_is_tried_again_by_the_next() {
        let event = Event::put(None, stored(2));
        assert_eq!(event.encoded(Told::Added, Encoding::Json, |_| Err("no")), Err("no"));
        assert_eq!(
            event.encoded(Told::Added, Encoding::Json, |_| Ok::<_, ()>("yes".into())),
            Ok(Some("yes".into()))
        );
    }

    #[test]
    fn a_deletion_shows_the_last_state_under_its_own_revision_and_no_current_one() {
        let event = Event::delete(stored(7), Revision::new(12));
        assert_eq!(event.departed().unwrap().modified(), Revision::new(12));
        assert_eq!(event.encoded(Told::Added, Encoding::Json, never), Ok(None));
        let created = Event::put(None, stored(2));
        assert_eq!(created.encoded(Told::Deleted, Encoding::Json, never), Ok(None));
    }
}
