//! Watch events: the changes that a server streams to a watcher.

use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;
use crate::{Object, ObjectMeta, ResourceVersion};

/// A change reported by the server, or a bookmark. `T` is the type of the objects.
///
/// An ERROR event ends the watch with the [`WatchError`](crate::WatchError) for its
/// [`Status`](crate::Status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent<T = Object> {
    /// The object was created, now matches the selector, or is part of the initial events.
    Added(T),
    /// The object changed.
    Modified(T),
    /// The object was deleted or no longer matches the selector. Carries its last state, with the
    /// version of the deletion.
    Deleted(T),
    /// All changes up to a version have been sent.
    Bookmark(Bookmark),
}

impl WatchEvent {
    /// Returns the resource version to resume the watch from after this event.
    ///
    /// Initial events are ordered by key, not by version, so a watch cannot be resumed from one of
    /// them before the bookmark that ends them.
    pub fn version(&self) -> &ResourceVersion {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => {
                object.metadata.resource_version()
            }
            Self::Bookmark(bookmark) => &bookmark.version,
        }
    }
}

impl<T> WatchEvent<T> {
    /// Returns the type of the event.
    pub fn kind(&self) -> WatchEventType {
        match self {
            Self::Added(_) => WatchEventType::Added,
            Self::Modified(_) => WatchEventType::Modified,
            Self::Deleted(_) => WatchEventType::Deleted,
            Self::Bookmark(_) => WatchEventType::Bookmark,
        }
    }
}

/// A resource version to resume from, without a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// All changes up to this version have been sent.
    pub version: ResourceVersion,
    /// Whether this bookmark ends the requested initial events.
    pub initial_events_end: bool,
}

impl Bookmark {
    /// The annotation of the bookmark that ends the initial events. Its value must be `true`.
    pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
}

/// Reads a bookmark from the metadata of the BOOKMARK event's object, including annotations.
impl From<&ObjectMeta> for Bookmark {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            version: metadata.resource_version().clone(),
            initial_events_end: metadata.annotation(Self::INITIAL_EVENTS_END) == Some("true"),
        }
    }
}

/// The type of a watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchEventType {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
    /// `BOOKMARK`
    Bookmark,
    /// `ERROR`: the object is a `Status`; the stream ends.
    Error,
}

/// An unknown watch event type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown watch event type {word:?}")]
pub struct UnknownWatchEventType {
    /// The unknown type, shortened if long.
    pub word: String,
}

impl WatchEventType {
    /// Returns the event type as sent by the server.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
            Self::Bookmark => "BOOKMARK",
            Self::Error => "ERROR",
        }
    }
}

impl fmt::Display for WatchEventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WatchEventType {
    type Err = UnknownWatchEventType;

    fn from_str(word: &str) -> Result<Self, UnknownWatchEventType> {
        match word {
            "ADDED" => Ok(Self::Added),
            "MODIFIED" => Ok(Self::Modified),
            "DELETED" => Ok(Self::Deleted),
            "BOOKMARK" => Ok(Self::Bookmark),
            "ERROR" => Ok(Self::Error),
            _ => Err(UnknownWatchEventType { word: excerpt(word) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoded, ObjectMetaBuilder};

    #[test]
    fn event_types_round_trip_through_text() {
        use WatchEventType::{Added, Bookmark, Deleted, Error, Modified};
        for kind in [Added, Modified, Deleted, Bookmark, Error] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn unknown_and_lower_case_event_types_are_rejected() {
        for word in ["", "added", "SYNC", "ADDED "] {
            assert_eq!(word.parse::<WatchEventType>(), Err(UnknownWatchEventType { word: word.into() }));
        }
    }

    #[test]
    fn only_the_value_true_ends_the_initial_events() {
        for (value, ends) in [("true", true), ("false", false), ("True", false), ("", false)] {
            let mut head = ObjectMetaBuilder::default();
            head.version("12").annotation(Bookmark::INITIAL_EVENTS_END, value);
            let expected = Bookmark { version: 12.into(), initial_events_end: ends };
            assert_eq!(Bookmark::from(&head.finish()), expected, "{value:?}");
        }
        let plain = ObjectMetaBuilder::default().version("12").finish();
        assert!(!Bookmark::from(&plain).initial_events_end);
    }

    #[test]
    fn an_event_has_a_version_and_a_type() {
        let object = Object {
            metadata: ObjectMetaBuilder::default().name("a").version("7").finish(),
            encoded: Encoded::json(*b"{}"),
        };
        let bookmark = Bookmark { version: 9.into(), initial_events_end: false };
        let table = [
            (WatchEvent::Added(object.clone()), 7, WatchEventType::Added),
            (WatchEvent::Modified(object.clone()), 7, WatchEventType::Modified),
            (WatchEvent::Deleted(object), 7, WatchEventType::Deleted),
            (WatchEvent::Bookmark(bookmark), 9, WatchEventType::Bookmark),
        ];
        for (event, version, kind) in table {
            assert_eq!((event.version(), event.kind()), (&version.into(), kind));
        }
    }
}
