//! Occurrences: what has happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clock::Moment;
use super::reference::Reference;
use crate::random;

/// Whether somebody should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// It is as it should be.
    Normal,
    /// It may not be.
    Warning,
}

impl Severity {
    /// As the server writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What has happened to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub(super) severity: Severity,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) action: String,
    pub(super) related: Option<Reference>,
    pub(super) annotations: BTreeMap<String, String>,
}

impl Occurrence {
    /// Something that is as it should be: why, in one word for machines, and what, for people.
    pub fn normal(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Normal, reason, message.into())
    }

    /// Something that somebody should look at.
    pub fn warning(reason: &str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, message.into())
    }

    fn new(severity: Severity, reason: &str, message: String) -> Self {
        let (reason, annotations) = (reason.to_owned(), BTreeMap::new());
        Self { severity, reason, message, action: String::new(), related: None, annotations }
    }

    /// What was done about it; the reason unless said. `v1` has no such field.
    #[must_use]
    pub fn action(mut self, action: &str) -> Self {
        self.action = action.to_owned();
        self
    }

    /// Which other object it is about. `v1` has no such field.
    #[must_use]
    pub fn related(mut self, other: &Reference) -> Self {
        self.related = Some(other.clone());
        self
    }

    /// With an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// An occurrence as it waits to be written.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) regarding: Reference,
    pub(super) occurrence: Occurrence,
    pub(super) source: Arc<Source>,
    pub(super) at: Moment,
}

/// Who records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) component: String,
    /// Where; empty if nobody has said.
    pub(super) host: String,
    /// What `events.k8s.io` calls it.
    pub(super) instance: String,
}

/// A name for an event of an object: that of the object and the moment, or if that is no name, a random one.
pub(super) fn event_name(object: &str, at: Moment) -> String {
    let name = format!("{object}.{:x}", at.0);
    if is_subdomain(&name) { name } else { random::uuid() }
}

/// Whether it is a DNS subdomain, as names of most objects are.
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
    fn an_event_is_named_after_its_object_if_that_can_be() {
        let at = Moment(0x1234_5678_9abc_def0);
        assert_eq!(event_name("web-0.shop", at), "web-0.shop.123456789abcdef0");
        for object in ["", "system:node", "Web", "-web", "web-", "a..b", &"a".repeat(250)] {
            let name = event_name(object, at);
            assert!(name.len() == 36 && is_subdomain(&name), "{object:?}: {name}");
        }
    }
}
