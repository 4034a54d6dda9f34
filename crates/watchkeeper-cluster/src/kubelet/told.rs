//! Told: what people hear of a container.

use std::time::Duration;

use watchkeeper_controller::events::{Occurrence, Reference};

use super::container::Role;

/// What people hear of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) is_warning: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// Which container: `spec.containers{app}`.
    pub(super) field: String,
}

impl Told {
    pub(super) fn new(
        role: Role,
        container: &str,
        is_warning: bool,
        reason: &'static str,
        message: String,
    ) -> Self {
        let list = if role == Role::Main { "containers" } else { "initContainers" };
        Self { is_warning, reason, message, field: format!("spec.{list}{{{container}}}") }
    }

    /// As an event about a part of a pod.
    pub(super) fn about(self, pod: &Reference) -> (Reference, Occurrence) {
        let occurrence = match self.is_warning {
            true => Occurrence::warning(self.reason, self.message),
            false => Occurrence::normal(self.reason, self.message),
        };
        (pod.clone().field(&self.field), occurrence)
    }
}

/// `1.234s` or `12ms`, as Go prints it.
pub(super) fn milliseconds(time: Duration) -> String {
    match time.as_millis() {
        0 => "0s".to_owned(),
        millis @ 1..=999 => format!("{millis}ms"),
        millis => format!("{}s", millis as f64 / 1_000.0),
    }
}
