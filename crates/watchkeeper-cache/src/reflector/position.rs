//! Position: where in the history of the collection the reflector is, and what it asks for from there.

use std::num::NonZeroU32;

use watchkeeper_core::{ListAt, ResourceVersion};

/// How many items a page has where nobody says otherwise.
const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("500 is not 0");

/// The last version that was seen, and what is known of the server's memory.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Empty before the first list.
    version: ResourceVersion,
    /// The last version after which a watch has expired.
    expired: Option<ResourceVersion>,
    /// The server said that it cannot serve `version`: the next list is of the most recent state.
    unavailable: bool,
    /// A list of any version came in pages, which a server with a watch cache does not do: it may be asked for
    /// pages later on, too.
    paged: bool,
}

impl Position {
    pub(super) fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// The last version wins, even if it is lower. An object without one says nothing.
    pub(super) fn move_to(&mut self, version: &ResourceVersion) {
        if !version.is_empty() && self.version != *version {
            self.version = version.clone();
        }
    }

    /// A list has succeeded.
    pub(super) fn listed(&mut self, version: &ResourceVersion) {
        self.version = version.clone();
        self.unavailable = false;
    }

    /// The version has expired, or is newer than the server knows.
    pub(super) fn is_unavailable(&mut self) {
        self.unavailable = true;
    }

    /// A watch after the version has expired. A list of that version or a newer one mends it. One of exactly that
    /// version, which a list in pages is, does not: the next watch expires, too, and then the most recent state is
    /// listed.
    pub(super) fn has_expired(&mut self) {
        self.unavailable |= self.expired.as_ref() == Some(&self.version);
        self.expired = Some(self.version.clone());
    }

    /// A list of any version came in pages.
    pub(super) fn came_in_pages(&mut self) {
        self.paged = true;
    }

    /// Which state to list.
    pub(super) fn list_at(&self) -> ListAt {
        match &self.version {
            _ if self.unavailable => ListAt::MostRecent,
            version if is_none(version) => ListAt::Any,
            version => ListAt::Unqualified(version.clone()),
        }
    }

    /// Which state to ask for as initial events.
    pub(super) fn stream_from(&self) -> Option<ResourceVersion> {
        (!self.unavailable && !is_none(&self.version)).then(|| self.version.clone())
    }

    /// How many items a page of such a list has. A server serves a version from memory only where there is no
    /// limit.
    pub(super) fn page_size(&self, at: &ListAt, explicit: Option<NonZeroU32>) -> Option<NonZeroU32> {
        match at {
            _ if explicit.is_some() => explicit,
            ListAt::Unqualified(_) if !self.paged => None,
            _ => Some(PAGE_SIZE),
        }
    }

    /// Whether a watch from here begins with initial events, which come in no order of versions.
    pub(super) fn is_nowhere(&self) -> bool {
        is_none(&self.version)
    }
}

/// `""` and `"0"` are versions of nothing.
fn is_none(version: &ResourceVersion) -> bool {
    version.is_empty() || *version == ResourceVersion::ANY
}
