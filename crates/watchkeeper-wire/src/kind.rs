//! Kinds with their protobuf messages.

use watchkeeper_core::GroupVersionKind;

use crate::DecodeError;
use crate::schema::{self, Message};

/// A kind, with its protobuf message if it is built in.
///
/// ```
/// use watchkeeper_wire::Kind;
///
/// assert!(Kind::new("apps", "v1", "Deployment").message().is_some());
/// assert!(Kind::new("example.com", "v1", "Widget").message().is_none()); // JSON only
/// ```
#[derive(Debug, Clone)]
pub struct Kind {
    name: GroupVersionKind,
    api_version: String,
    message: Option<&'static Message>,
}

impl Kind {
    /// Looks the kind up in the [built-in tables](schema::builtin).
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        GroupVersionKind::new(group, version, kind).into()
    }

    /// Returns the group, version and kind.
    pub fn name(&self) -> &GroupVersionKind {
        &self.name
    }

    /// Returns the `apiVersion`: `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Returns the kind's name: `Deployment`.
    pub fn kind(&self) -> &str {
        &self.name.kind
    }

    /// Returns the message; `None` for a kind without a protobuf form.
    pub fn message(&self) -> Option<&'static Message> {
        self.message
    }

    /// Returns the message, or an error for a kind without one.
    pub(crate) fn require_message(&self) -> Result<&'static Message, DecodeError> {
        self.message.ok_or_else(|| DecodeError::NoMessage { kind: self.name.to_string() })
    }
}

impl From<GroupVersionKind> for Kind {
    fn from(name: GroupVersionKind) -> Self {
        let api_version = name.group_version().to_string();
        let message = schema::builtin().message_of(&name);
        Self { name, api_version, message }
    }
}
