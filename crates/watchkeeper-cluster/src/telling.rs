//! Telling: what a controller has done about an object, for people who look at it.

use crate::resource::Resource;
use crate::view::Meta;

/// Who tells, and of which objects.
pub(crate) struct Telling {
    pub(crate) controller: &'static str,
    pub(crate) of: Resource,
}

impl Telling {
    /// Something that was to be expected.
    pub(crate) fn normal(&self, about: &Meta, reason: &str, message: &str) {
        tracing::info!(controller = self.controller, kind = self.of.kind, key = %about.key(), reason, message);
    }

    /// Something that somebody should look at.
    pub(crate) fn warning(&self, about: &Meta, reason: &str, message: &str) {
        tracing::warn!(controller = self.controller, kind = self.of.kind, key = %about.key(), reason, message);
    }
}
