//! Events: one change each, shared by all watchers.
//!
//! Invariants:
//! - `event.V1`: an event is encoded once per type and format, frame included, by the first watcher that needs it;
//!   the others share the bytes.
//! - `event.V2`: encodings belong to the event, not to the object. The history drops them soon after the event, while
//!   the object may live for years.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;
use watchkeeper_core::{Encoding, ObjectKey, WatchEventType};

use super::{Revision, Stored};

/// A change to one object.
pub struct Event {
    revision: Revision,
    change: Change,
    /// Cached encodings, created by the first watcher that needs one.
    hot: OnceLock<Box<Hot>>,
}

enum Change {
    Created(Arc<Stored>),
    Updated { previous: Arc<Stored>, current: Arc<Stored> },
    Deleted(Arc<Stored>),
}

/// The state of the object that a watch event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventState {
    /// The state after the change: ADDED and MODIFIED.
    Current,
    /// The state before the change, with the revision of the event: DELETED, either because the object is gone or
    /// because it no longer matches the selector.
    Departed,
}

/// The type under which a watcher reports an event. The same change can be ADDED for one selector and MODIFIED for
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeType {
    /// ADDED.
    Added,
    /// MODIFIED.
    Modified,
    /// DELETED.
    Deleted,
}

impl ChangeType {
    /// Returns the state that an event of this type carries.
    pub fn shown(self) -> EventState {
        match self {
            Self::Added | Self::Modified => EventState::Current,
            Self::Deleted => EventState::Departed,
        }
    }
}

impl From<ChangeType> for WatchEventType {
    fn from(change_type: ChangeType) -> Self {
        match change_type {
            ChangeType::Added => Self::Added,
            ChangeType::Modified => Self::Modified,
            ChangeType::Deleted => Self::Deleted,
        }
    }
}

/// Encodings and states derived from an event on behalf of watchers.
#[derive(Default)]
struct Hot {
    departed: OnceLock<Arc<Stored>>,
    /// Indexed by type and format.
    encodings: [OnceLock<Bytes>; 6],
    /// `event.V1`: held while encoding.
    encoding: Mutex<()>,
}

impl Event {
    /// Creates the event for a write, at the revision of `current`.
    pub(super) fn put(previous: Option<Arc<Stored>>, current: Arc<Stored>) -> Self {
        let revision = current.modified();
        let change = match previous {
            Some(previous) => Change::Updated { previous, current },
            None => Change::Created(current),
        };
        Self { revision, change, hot: OnceLock::new() }
    }

    /// Creates the event for a deletion.
    pub(super) fn delete(previous: Arc<Stored>, revision: Revision) -> Self {
        Self { revision, change: Change::Deleted(previous), hot: OnceLock::new() }
    }

    /// Returns the revision of the change.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the key of the changed object.
    pub fn key(&self) -> &ObjectKey {
        match &self.change {
            Change::Created(stored) | Change::Updated { current: stored, .. } | Change::Deleted(stored) => {
                stored.key()
            }
        }
    }

    /// Returns the state before the change with its own revision, or `None` if the object is new.
    pub fn previous(&self) -> Option<&Arc<Stored>> {
        match &self.change {
            Change::Created(_) => None,
            Change::Updated { previous, .. } | Change::Deleted(previous) => Some(previous),
        }
    }

    /// Returns the state after the change, or `None` if the object was deleted.
    pub fn current(&self) -> Option<&Arc<Stored>> {
        match &self.change {
            Change::Created(current) | Change::Updated { current, .. } => Some(current),
            Change::Deleted(_) => None,
        }
    }

    /// Returns the state before the change with the revision of this event (see [`EventState::Departed`]). Built on first
    /// use.
    pub fn departed(&self) -> Option<&Arc<Stored>> {
        let previous = self.previous()?;
        Some(self.hot().departed.get_or_init(|| Arc::new(previous.under(self.revision))))
    }

    /// Returns one of the two states of this event.
    pub fn state(&self, shown: EventState) -> Option<&Arc<Stored>> {
        match shown {
            EventState::Current => self.current(),
            EventState::Departed => self.departed(),
        }
    }

    /// Returns this event encoded as a watch event of the given type, calling `encode` if no other watcher has yet
    /// (`event.V1`). `encode` must not request an encoding of this event. Returns `None` if the event lacks the state
    /// to show.
    ///
    /// # Errors
    /// Returns the error of `encode`; the next caller tries again.
    pub fn encoded<E>(
        &self,
        change_type: ChangeType,
        encoding: Encoding,
        encode: impl FnOnce(&Stored) -> Result<Bytes, E>,
    ) -> Result<Option<Bytes>, E> {
        let Some(stored) = self.state(change_type.shown()) else { return Ok(None) };
        let hot = self.hot();
        let slot = &hot.encodings[2 * change_type as usize + usize::from(encoding == Encoding::Protobuf)];
        if let Some(bytes) = slot.get() {
            return Ok(Some(bytes.clone()));
        }
        let _encoding = hot.encoding.lock(); // event.V1
        if let Some(bytes) = slot.get() {
            return Ok(Some(bytes.clone()));
        }
        let bytes = encode(stored)?;
        Ok(Some(slot.get_or_init(|| bytes).clone()))
    }

    /// Returns a copy without cached encodings, or `None` if nothing is cached (`event.V2`).
    pub(super) fn cooled(&self) -> Option<Self> {
        self.hot.get()?;
        Some(match &self.change {
            Change::Created(current) => Self::put(None, current.clone()),
            Change::Updated { previous, current } => Self::put(Some(previous.clone()), current.clone()),
            Change::Deleted(previous) => Self::delete(previous.clone(), self.revision),
        })
    }

    /// Returns the bytes that only the history keeps alive: this event and the state it replaced.
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
    use crate::Unversioned;
    use std::convert::Infallible;

    fn stored(revision: u64) -> Arc<Stored> {
        let value = Unversioned::from_json(br#"{"metadata":{"name":"a"}}"#).unwrap();
        Arc::new(value.commit(Revision::new(2), Revision::new(revision)))
    }

    fn never(_: &Stored) -> Result<Bytes, Infallible> {
        panic!("event.V1: encoded already, or no such state")
    }

    #[test]
    fn each_state_is_encoded_once_a_format_and_forgotten_when_the_event_is_cold() {
        let event = Event::put(Some(stored(7)), stored(9));
        for change_type in [ChangeType::Added, ChangeType::Modified, ChangeType::Deleted] {
            for encoding in [Encoding::Json, Encoding::Protobuf] {
                let text = format!("{change_type:?} in {encoding}");
                let encode = |stored: &Stored| {
                    assert_eq!(stored.object().metadata.resource_version(), &9.into());
                    Ok::<_, Infallible>(Bytes::from(text.clone()))
                };
                assert_eq!(event.encoded(change_type, encoding, encode), Ok(Some(Bytes::from(text.clone()))));
                assert_eq!(event.encoded(change_type, encoding, never), Ok(Some(Bytes::from(text.clone()))));
            }
        }
        assert_eq!(event.previous().unwrap().modified(), Revision::new(7));
        let cold = event.cooled().unwrap();
        assert_eq!((cold.revision(), cold.previous()), (event.revision(), event.previous()));
        assert!(cold.cooled().is_none());
        assert_eq!(cold.encoded(ChangeType::Added, Encoding::Json, |_| Err(())), Err(()));
    }

    #[test]
    fn a_failed_encoding_is_retried_by_the_next_watcher() {
        let event = Event::put(None, stored(2));
        assert_eq!(event.encoded(ChangeType::Added, Encoding::Json, |_| Err("no")), Err("no"));
        assert_eq!(
            event.encoded(ChangeType::Added, Encoding::Json, |_| Ok::<_, ()>("yes".into())),
            Ok(Some("yes".into()))
        );
    }

    #[test]
    fn a_deletion_shows_the_last_state_under_its_own_revision_and_no_current_one() {
        let event = Event::delete(stored(7), Revision::new(12));
        assert_eq!(event.departed().unwrap().modified(), Revision::new(12));
        assert_eq!(event.encoded(ChangeType::Added, Encoding::Json, never), Ok(None));
        let created = Event::put(None, stored(2));
        assert_eq!(created.encoded(ChangeType::Deleted, Encoding::Json, never), Ok(None));
    }
}
