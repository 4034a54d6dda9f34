//! Kinds as the codecs know them: names, and the rows of the tables.

use watchkeeper_core::GroupVersionKind;

use crate::DecodeError;
use crate::schema::{self, Message};

/// A kind of object, with its message if it is built in.
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

    /// Group, version and kind.
    pub fn name(&self) -> &GroupVersionKind {
        &self.name
    }

    /// `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// `Deployment`.
    pub fn kind(&self) -> &str {
        &self.name.kind
    }

    /// Its message; `None` for a kind that has no protobuf form.
    pub fn message(&self) -> Option<&'static Message> {
        self.message
    }

    /// Its message, or the error that it has none.
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
