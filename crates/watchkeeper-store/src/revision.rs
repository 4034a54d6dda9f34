//! Revisions: positions in the order of all changes.

use std::fmt;

use watchkeeper_core::ResourceVersion;

/// The number of a change, and of the state after it. The resource version of an object is the revision of its last
/// write.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// The revision of an empty store. Not 0, because clients use resource version 0 for "any".
    pub const FIRST: Self = Self(1);

    /// Creates the revision with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the preceding revision.
    pub(crate) const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl From<Revision> for ResourceVersion {
    fn from(revision: Revision) -> Self {
        revision.0.into()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}
