//! Schema tables: the fields of every built-in kind, as data.
//!
//! Input: `tables/kinds.txt`, generated from the Go types of Kubernetes by `oracle/cmd/tables`.
//! Output: rows for [`decode`](crate::decode()), [`transcode`](crate::transcode) and pruning, which
//! have no code per kind.
//!
//! - `schema.T1`: the fields of a message are sorted by number.
//! - `schema.T2`: a message has at most 64 visible fields, including those of inlined messages, so that a
//!   set of them fits one machine word.
//! - `schema.T3`: inlining has no cycles.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use watchkeeper_core::GroupVersionKind;

use crate::protobuf::{Tag, Wire};

/// All messages and kinds of one version of Kubernetes.
#[derive(Debug)]
pub struct Schema {
    messages: Vec<Message>,
    kinds: HashMap<(&'static str, &'static str, &'static str), MessageId>,
}

/// Returns the built-in kinds of the Kubernetes version of this crate.
///
/// ```
/// use watchkeeper_wire::schema;
///
/// let pod = schema::builtin().message("", "v1", "Pod").expect("a pod is built in");
/// assert_eq!(pod.name(), "core.v1.Pod");
/// assert_eq!(pod.field("spec").unwrap().number(), 2);
/// ```
#[inline]
pub fn builtin() -> &'static Schema {
    static BUILTIN: LazyLock<Schema> = LazyLock::new(|| {
        table::read(include_str!("../../tables/kinds.txt"))
            .unwrap_or_else(|error| panic!("the committed schema table cannot be read: {error}"))
    });
    &BUILTIN
}

/// The identifier of a message in its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(u16);

impl Schema {
    /// Returns the message of a kind, or `None` for a kind that is not built in or has no protobuf form.
    pub fn message(&self, group: &str, version: &str, kind: &str) -> Option<&Message> {
        // Shortens the `'static` lifetime of the keys, for a lookup with borrowed parts.
        let kinds: &HashMap<(&str, &str, &str), MessageId> = &self.kinds;
        let id = kinds.get(&(group, version, kind)).or_else(|| kinds.get(&("*", "*", kind)))?;
        Some(self.get(*id))
    }

    /// Returns the message of a kind; see [`message`](Self::message).
    pub fn message_of(&self, kind: &GroupVersionKind) -> Option<&Message> {
        self.message(&kind.group, &kind.version, &kind.kind)
    }

    /// Returns the message with this identifier.
    #[inline]
    pub fn get(&self, id: MessageId) -> &Message {
        &self.messages[usize::from(id.0)]
    }

    /// Returns all kinds as (group, version, kind) with their messages, in arbitrary order. Kinds of
    /// any group and version, such as `DeleteOptions`, have `*` for both.
    pub fn kinds(&self) -> impl Iterator<Item = ((&'static str, &'static str, &'static str), &Message)> {
        self.kinds.iter().map(|(kind, id)| (*kind, self.get(*id)))
    }

    /// Returns the message with this name, such as `core.v1.Pod`.
    pub fn named(&self, name: &str) -> Option<&Message> {
        // Messages are sorted by name.
        let position = self.messages.binary_search_by(|message| message.name.cmp(name)).ok()?;
        Some(&self.messages[position])
    }

    /// Returns all messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// A message: the fields of one Go struct.
#[derive(Debug)]
pub struct Message {
    name: &'static str,
    /// Sorted by number (`schema.T1`).
    fields: Box<[Field]>,
    /// The fields in JSON, sorted by name: those of this message and of inlined ones.
    visible: Box<[Visible]>,
    /// The same in the order of their slots, which is about the order in which Go writes them.
    by_slot: Box<[Visible]>,
    /// Slots of the visible fields that Go writes to JSON even if they are zero.
    always: u64,
}

/// A field as it appears in JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible {
    pub(crate) name: &'static str,
    /// Its position in a set of the message's visible fields (`schema.T2`).
    pub(crate) slot: u8,
    /// The message with the field: the outer one, or an inlined one.
    owner: MessageId,
    /// Its position among the owner's fields.
    position: u8,
}

impl Message {
    /// Returns the name: `core.v1.Pod`.
    #[inline]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the fields, sorted by number.
    #[inline]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the field with this number.
    #[inline]
    pub fn by_number(&self, number: u32) -> Option<&Field> {
        // Numbers are mostly contiguous from 1.
        let guess = (number as usize).wrapping_sub(1);
        match self.fields.get(guess) {
            Some(field) if field.number == number => Some(field),
            _ => {
                let position = self.fields.binary_search_by_key(&number, |field| field.number).ok()?; // schema.T1
                Some(&self.fields[position])
            }
        }
    }

    /// Returns the field with this JSON name, excluding inlined messages.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name && field.shape != Shape::Inline)
    }

    /// Returns the field with this JSON name, including inlined messages.
    pub(crate) fn visible(&self, name: &str) -> Option<&Visible> {
        let position = self.visible.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.visible[position])
    }

    /// As [`visible`](Self::visible), but searches from `hint`, which is then set to the position after the
    /// field. For sorted keys this compares few names.
    pub(crate) fn visible_from(&self, hint: &mut usize, name: &str) -> Option<&Visible> {
        let start = (*hint).min(self.visible.len());
        let (before, behind) = self.visible.split_at(start);
        let is_it = |field: &Visible| field.name == name;
        let position = match behind.iter().position(is_it) {
            Some(steps) => start + steps,
            None => before.iter().position(is_it)?,
        };
        *hint = position + 1;
        Some(&self.visible[position])
    }

    /// Returns the fields in JSON, including those of inlined messages, in the order of their slots.
    pub(crate) fn visible_fields(&self) -> &[Visible] {
        &self.by_slot
    }

    /// Returns the field with this JSON name, including inlined messages. The search begins at the slot `hint`, which is
    /// then set to the next one.
    pub(crate) fn visible_after(&self, hint: &mut usize, name: &[u8]) -> Option<&Visible> {
        let is_it = |field: &Visible| field.name.as_bytes() == name;
        let (before, behind) = self.by_slot.split_at((*hint).min(self.by_slot.len()));
        let field =
            behind.iter().find(|field| is_it(field)).or_else(|| before.iter().find(|field| is_it(field)))?;
        *hint = usize::from(field.slot) + 1;
        Some(field)
    }

    /// Returns the visible field in a slot.
    pub(crate) fn in_slot(&self, slot: u32) -> Option<&Visible> {
        self.visible.iter().find(|field| u32::from(field.slot) == slot)
    }

    /// Returns the slots that are always written to JSON.
    #[inline]
    pub(crate) fn always(&self) -> u64 {
        self.always
    }
}

impl Visible {
    pub(crate) fn field<'a>(&self, schema: &'a Schema) -> &'a Field {
        &schema.get(self.owner).fields[usize::from(self.position)]
    }
}

/// A field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    name: &'static str,
    number: u32,
    /// The tag in protobuf.
    tag: Tag,
    /// The encoded tag.
    key: u64,
    shape: Shape,
    form: Form,
    omit: Omit,
    patch: Option<Patch>,
    /// Its slot; for an inlined message, the slot of its first field.
    slot: u8,
    /// Whether JSON omits a zero. In protobuf, Go writes a zero as a single byte 0 after the tag: the
    /// number, or the length of a string, list or time.
    hides_zero: bool,
}

impl Field {
    /// Returns the JSON name; empty for an inlined message.
    #[inline]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the protobuf field number.
    #[inline]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the cardinality.
    #[inline]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the type of a value.
    #[inline]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the condition under which Go omits the field from JSON.
    pub fn omit(&self) -> Omit {
        self.omit
    }

    /// Returns the strategic merge patch directives, if any.
    pub fn patch(&self) -> Option<Patch> {
        self.patch
    }

    /// Returns the tag in protobuf.
    #[inline]
    pub(crate) fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the encoded tag.
    #[inline]
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    #[inline]
    pub(crate) fn slot(&self) -> u8 {
        self.slot
    }

    #[inline]
    pub(crate) fn hides_zero(&self) -> bool {
        self.hides_zero
    }
}

/// The cardinality of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Required; zero and absent are equivalent.
    One,
    /// Optional: a pointer in Go.
    Optional,
    /// A list.
    List,
    /// A map with string keys.
    Map,
    /// A message in protobuf whose fields are inlined in JSON.
    Inline,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `true` or `false`.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A 64-bit float.
    Double,
    /// A string.
    String,
    /// Bytes; base64 in JSON.
    Bytes,
    /// Another message.
    Message(MessageId),
    /// A timestamp in seconds.
    Time,
    /// A timestamp in microseconds.
    MicroTime,
    /// A quantity such as `500m` or `2Gi`.
    Quantity,
    /// An integer or a string.
    IntOrString,
    /// Arbitrary JSON.
    RawExtension,
    /// The JSON of a managed-fields entry.
    FieldsV1,
    /// Arbitrary JSON in a schema.
    Json,
    /// A list of strings, wrapped in a message in protobuf.
    Strings,
    /// A schema or a boolean.
    SchemaOrBool(MessageId),
    /// A schema or a list of schemas.
    SchemaOrArray(MessageId),
    /// A schema or a list of property names.
    SchemaOrStrings(MessageId),
}

impl Form {
    /// Returns the wire type of a value.
    #[inline]
    pub(crate) fn wire(self) -> Wire {
        match self {
            Form::Bool | Form::Int32 | Form::Int64 => Wire::Varint,
            Form::Double => Wire::Fixed64,
            _ => Wire::Bytes,
        }
    }
}

/// The condition under which Go omits a field from JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omit {
    /// Never.
    Never,
    /// If it is false, 0, an empty string, list or map, or a nil pointer; never a message or a time.
    Empty,
    /// As `Empty`, and zero messages and times.
    EmptyOrZero,
}

/// The strategic merge patch directives of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// The patch strategy.
    pub strategy: PatchStrategy,
    /// The field that identifies an element of a list.
    pub merge_key: Option<&'static str>,
}

/// The strategy of a strategic merge patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchStrategy {
    /// Lists are merged by element.
    Merge,
    /// Lists are replaced.
    Replace,
    /// Only the keys in the patch are retained.
    RetainKeys,
    /// `Merge` and `RetainKeys` combined.
    MergeRetainKeys,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_is_valid() {
        let schema = builtin();
        assert!(schema.messages().len() > 1_000, "{} messages", schema.messages().len());
        assert!(schema.kinds().count() > 300);
    }

    #[test]
    fn a_field_is_found_by_number_with_and_without_gaps() {
        let meta =
            builtin().messages().iter().find(|message| message.name() == "meta.v1.ObjectMeta").unwrap();
        assert_eq!(meta.by_number(1).unwrap().name(), "name");
        assert_eq!(meta.by_number(17).unwrap().name(), "managedFields");
        assert_eq!(meta.by_number(15), None);
        assert_eq!(meta.by_number(0), None);
        assert_eq!(meta.by_number(u32::MAX), None);
    }

    #[test]
    fn inlined_fields_are_visible() {
        let schema = builtin();
        let volume = schema.messages().iter().find(|message| message.name() == "core.v1.Volume").unwrap();
        let secret = volume.visible("secret").unwrap();
        assert_eq!(secret.field(schema).name(), "secret");
        assert_ne!(secret.slot, volume.visible("name").unwrap().slot);
        assert!(volume.visible("volumeSource").is_none());
    }

    #[test]
    fn merge_keys_and_strategies_are_parsed() {
        let schema = builtin();
        let spec = schema.messages().iter().find(|message| message.name() == "core.v1.PodSpec").unwrap();
        let patch = spec.field("containers").unwrap().patch().unwrap();
        assert_eq!((patch.strategy, patch.merge_key), (PatchStrategy::Merge, Some("name")));
        let patch = spec.field("volumes").unwrap().patch().unwrap();
        assert_eq!((patch.strategy, patch.merge_key), (PatchStrategy::MergeRetainKeys, Some("name")));
        assert_eq!(spec.field("nodeName").unwrap().patch(), None);
    }

    #[test]
    fn options_belong_to_every_group_and_version() {
        assert!(builtin().message("apps", "v1", "DeleteOptions").is_some());
        assert!(builtin().message("example.com", "v1", "Widget").is_none());
    }
}
