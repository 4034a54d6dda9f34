//! Position: the reflector's resource version, and the list and watch parameters that follow from it.

use std::num::NonZeroU32;

use watchkeeper_core::{ListAt, ResourceVersion};

/// The default page size.
const PAGE_SIZE: NonZeroU32 = NonZeroU32::new(500).expect("500 is not 0");

/// The last version seen, and what is known about the versions that the server can serve.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Empty before the first list.
    version: ResourceVersion,
    /// The last version from which a watch expired.
    expired: Option<ResourceVersion>,
    /// Whether the server cannot serve `version`, so that the next list has to request the most recent state.
    unavailable: bool,
    /// Whether a list at any version was paged. A server with a watch cache does not do that, so that paging later lists
    /// does not bypass its cache.
    paged: bool,
}

impl Position {
    pub(super) fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Sets the version, even to a lower one. An empty version is ignored.
    pub(super) fn move_to(&mut self, version: &ResourceVersion) {
        if !version.is_empty() && self.version != *version {
            self.version = version.clone();
        }
    }

    /// Sets the version after a successful list.
    pub(super) fn set_listed(&mut self, version: &ResourceVersion) {
        self.version = version.clone();
        self.unavailable = false;
    }

    /// Records that the version has expired, or that the server has not reached it yet.
    pub(super) fn mark_unavailable(&mut self) {
        self.unavailable = true;
    }

    /// Records that a watch from the version has expired. Usually a list at that version or newer returns a newer one. A
    /// paged list returns exactly that version, and the next watch expires again; the list after that requests the most
    /// recent state.
    pub(super) fn mark_expired(&mut self) {
        self.unavailable |= self.expired.as_ref() == Some(&self.version);
        self.expired = Some(self.version.clone());
    }

    /// Records that a list at any version was paged.
    pub(super) fn mark_paged(&mut self) {
        self.paged = true;
    }

    /// Returns the version to request for a list.
    pub(super) fn list_at(&self) -> ListAt {
        match &self.version {
            _ if self.unavailable => ListAt::MostRecent,
            version if is_unset(version) => ListAt::Any,
            version => ListAt::Unqualified(version.clone()),
        }
    }

    /// Returns the version to request for initial events.
    pub(super) fn stream_from(&self) -> Option<ResourceVersion> {
        (!self.unavailable && !is_unset(&self.version)).then(|| self.version.clone())
    }

    /// Returns the page size of a list. A server serves a list at a version from its watch cache only without a limit.
    pub(super) fn page_size(&self, at: &ListAt, explicit: Option<NonZeroU32>) -> Option<NonZeroU32> {
        match at {
            _ if explicit.is_some() => explicit,
            ListAt::Unqualified(_) if !self.paged => None,
            _ => Some(PAGE_SIZE),
        }
    }

    /// Returns whether there is no version yet. A watch then starts with synthetic events for existing objects, which are
    /// not in version order.
    pub(super) fn is_unset(&self) -> bool {
        is_unset(&self.version)
    }
}

/// Returns whether a version is `""` or `"0"`, which are not actual versions.
fn is_unset(version: &ResourceVersion) -> bool {
    version.is_empty() || *version == ResourceVersion::ANY
}
