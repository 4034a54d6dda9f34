//! Objects that cannot be decoded: logged and counted, so that a blank row is not the only sign of them.

use std::fmt::Display;

use watchkeeper_core::{GroupVersionKind, Object};
use watchkeeper_metrics::{Counter, Family, RegisterError, Registry};

/// A log and a counter of objects that cannot be decoded. Clones share the counter.
#[derive(Debug, Clone)]
pub(crate) struct Undecodable {
    objects: Family<Counter, 1>,
}

impl Undecodable {
    /// Registers the counter `watchkeeper_web_undecodable_objects_total`.
    pub(crate) fn new(registry: &Registry) -> Result<Self, RegisterError> {
        let objects = registry.counter(
            "watchkeeper_web_undecodable_objects_total",
            "Reads of cached objects that could not be decoded, by kind.",
            ["kind"],
        )?;
        Ok(Self { objects })
    }

    /// Logs and counts an object.
    pub(crate) fn report(&self, kind: &GroupVersionKind, object: &Object, error: &dyn Display) {
        let (kind, key) = (kind.to_string(), object.metadata.key());
        tracing::warn!(%kind, %key, %error, "failed to decode object; it is shown without its content");
        self.objects.with([&kind]).increment();
    }
}
