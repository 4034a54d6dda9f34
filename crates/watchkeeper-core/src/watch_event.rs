//! Watch events: what a server says of an object while it is watched.

use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;
use crate::{Head, Object, ResourceVersion};

/// A change that the server reports, or a mark of how far it has got.
///
/// An ERROR on the wire is not among them: it ends the watch with a
/// [`WatchError`](crate::WatchError) made of its [`Status`](crate::Status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// The object is new, or has begun to match the selector, or is part of the initial events.
    Added(Object),
    /// The object has changed.
    Modified(Object),
    /// The object is gone, or has ceased to match the selector: its last state, with the version of
    /// its end.
    Deleted(Object),
    /// Everything up to a version has been sent.
    Bookmark(Bookmark),
}

impl WatchEvent {
    /// The version that this event brings the watcher to.
    ///
    /// Initial events come in the order of their keys, not of their versions: none of them is a
    /// place to resume from before the bookmark that ends them.
    pub fn version(&self) -> &ResourceVersion {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object.head.version(),
            Self::Bookmark(bookmark) => &bookmark.version,
        }
    }

    /// The word for it on the wire.
    pub fn kind(&self) -> EventKind {
        match self {
            Self::Added(_) => EventKind::Added,
            Self::Modified(_) => EventKind::Modified,
            Self::Deleted(_) => EventKind::Deleted,
            Self::Bookmark(_) => EventKind::Bookmark,
        }
    }
}

/// A version that can be resumed from, without a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// All changes up to this version have been sent.
    pub version: ResourceVersion,
    /// Whether this ends the initial events of a watch that asked for them.
    pub initial_events_end: bool,
}

impl Bookmark {
    /// The annotation by which a bookmark ends the initial events. Only the value `true` counts.
    pub const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
}

/// Reads the otherwise empty object that a BOOKMARK carries. Its annotations must have been kept.
impl From<&Head> for Bookmark {
    fn from(head: &Head) -> Self {
        Self {
            version: head.version().clone(),
            initial_events_end: head.annotation(Self::INITIAL_EVENTS_END) == Some("true"),
        }
    }
}

/// The sort of an event, by its word on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// `ADDED`
    Added,
    /// `MODIFIED`
    Modified,
    /// `DELETED`
    Deleted,
    /// `BOOKMARK`
    Bookmark,
    /// `ERROR`: the object is a status, and the last that comes.
    Error,
}

/// A word that is no sort of event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("watch event of unknown type {word:?}")]
pub struct UnknownEventKind {
    /// The word, shortened if long.
    pub word: String,
}

impl EventKind {
    /// The word on the wire.
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

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EventKind {
    type Err = UnknownEventKind;

    fn from_str(word: &str) -> Result<Self, UnknownEventKind> {
        match word {
            "ADDED" => Ok(Self::Added),
            "MODIFIED" => Ok(Self::Modified),
            "DELETED" => Ok(Self::Deleted),
            "BOOKMARK" => Ok(Self::Bookmark),
            "ERROR" => Ok(Self::Error),
            _ => Err(UnknownEventKind { word: excerpt(word) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoded, HeadBuilder};

    #[test]
    fn every_kind_of_event_survives_the_round_trip_through_its_word() {
        use EventKind::{Added, Bookmark, Deleted, Error, Modified};
        for kind in [Added, Modified, Deleted, Bookmark, Error] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
    }

    #[test]
    fn an_unknown_or_lower_case_word_is_refused_by_name() {
        for word in ["", "added", "SYNC", "ADDED "] {
            assert_eq!(word.parse::<EventKind>(), Err(UnknownEventKind { word: word.into() }));
        }
    }

    #[test]
    fn only_the_value_true_ends_the_initial_events() {
        for (value, ends) in [("true", true), ("false", false), ("True", false), ("", false)] {
            let mut head = HeadBuilder::default();
            head.version("12").annotation(Bookmark::INITIAL_EVENTS_END, value);
            let expected = Bookmark { version: 12.into(), initial_events_end: ends };
            assert_eq!(Bookmark::from(&head.finish()), expected, "{value:?}");
        }
        let plain = HeadBuilder::default().version("12").finish();
        assert!(!Bookmark::from(&plain).initial_events_end);
    }

    #[test]
    fn an_event_tells_its_version_and_its_kind() {
        let object = Object {
            head: HeadBuilder::default().name("a").version("7").finish(),
            encoded: Encoded::json(*b"{}"),
        };
        let bookmark = Bookmark { version: 9.into(), initial_events_end: false };
        let table = [
            (WatchEvent::Added(object.clone()), 7, EventKind::Added),
            (WatchEvent::Modified(object.clone()), 7, EventKind::Modified),
            (WatchEvent::Deleted(object), 7, EventKind::Deleted),
            (WatchEvent::Bookmark(bookmark), 9, EventKind::Bookmark),
        ];
        for (event, version, kind) in table {
            assert_eq!((event.version(), event.kind()), (&version.into(), kind));
        }
    }
}
