//! Event: the content of an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clock::Moment;
use super::reference::Reference;
use crate::random;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Informational.
    Normal,
    /// Something may need attention.
    Warning,
}

impl EventType {
    /// Returns the value of the event's `type` field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An event to [record](super::EventRecorder::record) about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub(super) event_type: EventType,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) action: String,
    pub(super) related: Option<Reference>,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Event {
    /// Creates an event of type `Normal`. `reason` is a CamelCase word for machines, `message` a sentence for
    /// people.
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self::new(EventType::Normal, reason, message.into())
    }

    /// Creates an event of type `Warning`.
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self::new(EventType::Warning, reason, message.into())
    }

    fn new(event_type: EventType, reason: &str, message: String) -> Self {
        let (reason, annotations) = (reason.to_owned(), BTreeMap::new());
        Self { event_type, reason, message, action: String::new(), related: None, annotations }
    }

    /// Sets the action taken. Defaults to the reason. `v1` has no such field.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        self.action = action.to_owned();
        self
    }

    /// Sets the secondary object. `v1` has no such field.
    #[must_use]
    pub fn related(mut self, other: &Reference) -> Self {
        self.related = Some(other.clone());
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// An event in the queue.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) regarding: Reference,
    pub(super) event: Event,
    pub(super) source: Arc<Source>,
    pub(super) at: Moment,
}

/// The component that records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) component: String,
    /// `source.host` of `v1`; may be empty.
    pub(super) host: String,
    /// `reportingInstance` of `events.k8s.io/v1`.
    pub(super) instance: String,
}

/// Returns a name for an event: the object's name and the moment, or a UUID if that is not a valid name.
pub(super) fn event_name(object: &str, at: Moment) -> String {
    let name = format!("{object}.{:x}", at.0);
    if is_subdomain(&name) { name } else { random::uuid() }
}

/// Returns whether the name is a DNS subdomain (RFC 1123).
fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
            && bytes.first().is_some_and(|byte| inner(*byte))
            && bytes.last().is_some_and(|byte| inner(*byte))
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_after_its_object_unless_the_name_is_invalid() {
        let at = Moment(0x1234_5678_9abc_def0);
        assert_eq!(event_name("web-0.shop", at), "web-0.shop.123456789abcdef0");
        for object in ["", "system:node", "Web", "-web", "web-", "a..b", &"a".repeat(250)] {
            let name = event_name(object, at);
            assert!(name.len() == 36 && is_subdomain(&name), "{object:?}: {name}");
        }
    }
}
