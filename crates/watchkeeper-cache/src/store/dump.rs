//! Dump: a printable view of a store, for debugging.

use std::fmt;

use serde_json::Value;
use watchkeeper_core::Object;
use watchkeeper_wire::{Kind, decode, yaml};

use super::snapshot::Snapshot;
use crate::handler::HandlerStats;

/// A printable view of a store at one moment: its version, sizes, indexes, handlers and objects.
///
/// Created by [`Store::dump`](super::Store::dump) and [`Informer::dump`](crate::Informer::dump).
///
/// ```
/// use watchkeeper_cache::{Sink as _, Store};
/// use watchkeeper_core::{Encoded, ObjectMetaBuilder, Object};
///
/// let (store, mut writer) = Store::new();
/// let metadata = ObjectMetaBuilder::default().name("node-1").version("7").finish();
/// writer.put(Object { metadata, encoded: Encoded::json(*b"{}") });
/// let text = store.dump().to_string();
/// assert!(text.starts_with("not ready, version 7\n1 object, "));
/// assert!(text.ends_with("node-1 version 7, 2 bytes of JSON\n"));
/// ```
#[derive(Debug, Clone)]
pub struct Dump {
    pub(crate) title: Option<String>,
    pub(super) is_ready: bool,
    pub(super) state: Snapshot,
    pub(super) handlers: Vec<HandlerStats>,
    pub(crate) bodies: Option<Kind>,
}

impl Dump {
    /// Includes the bodies of the objects, which are of this kind, as YAML. Secret data is redacted: only its keys
    /// and lengths are printed.
    #[must_use]
    pub fn bodies(mut self, kind: Kind) -> Self {
        self.bodies = Some(kind);
        self
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(title) = &self.title {
            write!(f, "{title}: ")?;
        }
        let ready = if self.is_ready { "ready" } else { "not ready" };
        writeln!(f, "{ready}, version {}", or_none(&self.state.version().to_string()))?;
        let sizes = self.state.sizes();
        writeln!(
            f,
            "{}, {} bytes: bodies {}, metadata {}, entries {}, indexes {}",
            counted(sizes.objects, "object"),
            sizes.total(),
            sizes.bodies,
            sizes.metadata,
            sizes.entries,
            sizes.indexes
        )?;
        for (name, values, entries) in self.state.state().index_counts() {
            writeln!(f, "index {name}: {values} values, {entries} entries")?;
        }
        for handler in &self.handlers {
            let HandlerStats { name, pending, lag, coalesced, dropped, panics } = handler;
            writeln!(
                f,
                "handler {}: {pending} pending for {lag:?}, {coalesced} coalesced, {dropped} dropped, {panics} panics",
                or_none(name)
            )?;
        }
        self.state.iter().try_for_each(|object| self.object(object, f))
    }
}

impl Dump {
    fn object(&self, object: &Object, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, version) = (object.metadata.key(), object.metadata.resource_version());
        let length = counted(object.encoded.body.len(), "byte");
        writeln!(f, "{key} version {version}, {length} of {}", object.encoded.encoding)?;
        let Some(kind) = &self.bodies else { return Ok(()) };
        match decode::<Value>(&object.encoded, kind) {
            Ok(mut body) => {
                if is_secret(kind) {
                    redact(&mut body);
                }
                yaml::write(&body).lines().try_for_each(|line| writeln!(f, "    {line}"))
            }
            // A decode error may quote the body.
            Err(_) if is_secret(kind) => writeln!(f, "    failed to decode"),
            Err(error) => writeln!(f, "    failed to decode: {error}"),
        }
    }
}

fn is_secret(kind: &Kind) -> bool {
    kind.name().group.is_empty() && kind.kind() == "Secret"
}

/// Redacts everything that can contain secret data. `kubectl apply` copies the whole secret into an annotation.
fn redact(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else { return conceal(secret) };
    for (name, value) in fields {
        match (name.as_str(), value.as_object_mut()) {
            ("apiVersion" | "kind" | "type" | "immutable", _) => {}
            ("metadata", Some(metadata)) => metadata.get_mut("annotations").into_iter().for_each(conceal),
            _ => conceal(value),
        }
    }
}

/// Replaces values with their lengths, and keeps the keys.
fn conceal(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(conceal),
        Value::Array(items) => items.iter_mut().for_each(conceal),
        Value::String(text) => *text = format!("<{}>", counted(text.len(), "byte")),
        other => *other = "<redacted>".into(),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "(none)" } else { text }
}
