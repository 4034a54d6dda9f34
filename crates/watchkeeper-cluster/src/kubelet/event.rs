//! Events of containers.

use std::time::Duration;

use watchkeeper_controller::events::{Event, Reference};

use super::container::Role;

/// An event of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContainerEvent {
    pub(super) is_warning: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// The container, as `spec.containers{app}`.
    pub(super) field: String,
}

impl ContainerEvent {
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

    /// Returns the event with a reference to the container.
    pub(super) fn about(self, pod: &Reference) -> (Reference, Event) {
        let event = if self.is_warning {
            Event::warning(self.reason, self.message)
        } else {
            Event::normal(self.reason, self.message)
        };
        (pod.clone().field(&self.field), event)
    }
}

/// Formats a duration as Go does, in milliseconds: `1.234s` or `12ms`.
pub(super) fn milliseconds(time: Duration) -> String {
    match time.as_millis() {
        0 => "0s".to_owned(),
        millis @ 1..=999 => format!("{millis}ms"),
        millis => format!("{}s", millis as f64 / 1_000.0),
    }
}
