//! Schema tables: the fields of every built-in kind, as data.
//!
//! From: `tables/kinds.txt`, generated from Kubernetes' Go types by `oracle/cmd/tables`.
//! To:   [`decode`](crate::decode()), [`transcode`](crate::transcode) and cutting, which are
//!       generic code over these rows. A kind is a row; nobody writes a kind by hand.
//!
//! - T1: the fields of a message stand in ascending order of their numbers.
//! - T2: a message has at most 64 fields that JSON can see, its inlined messages' fields included,
//!   so that a set of them is one machine word.
//! - T3: messages inline each other without cycles.

mod table;

use std::collections::HashMap;
use std::sync::LazyLock;

use watchkeeper_core::GroupVersionKind;

/// All messages and kinds of one version of Kubernetes.
#[derive(Debug)]
pub struct Schema {
    messages: Vec<Message>,
    kinds: HashMap<(&'static str, &'static str, &'static str), MessageId>,
}

/// The built-in kinds of the Kubernetes version that this crate was generated for.
///
/// ```
/// use watchkeeper_wire::schema;
///
/// let pod = schema::builtin().message("", "v1", "Pod").expect("a pod is built in");
/// assert_eq!(pod.name(), "core.v1.Pod");
/// assert_eq!(pod.field("spec").unwrap().number(), 2);
/// ```
pub fn builtin() -> &'static Schema {
    static BUILTIN: LazyLock<Schema> = LazyLock::new(|| {
        table::read(include_str!("../../tables/kinds.txt"))
            .unwrap_or_else(|error| panic!("the committed schema table cannot be read: {error}"))
    });
    &BUILTIN
}

/// Which message of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(u16);

impl Schema {
    /// The message of a kind, or `None` where the kind is not built in (a custom resource) or has
    /// no protobuf form.
    pub fn message(&self, group: &str, version: &str, kind: &str) -> Option<&Message> {
        // The maps' keys are `'static`; a lookup by shorter-lived parts needs them to be covariant.
        let kinds: &HashMap<(&str, &str, &str), MessageId> = &self.kinds;
        let id = kinds.get(&(group, version, kind)).or_else(|| kinds.get(&("*", "*", kind)))?;
        Some(self.get(*id))
    }

    /// The message of a kind; see [`message`](Self::message).
    pub fn message_of(&self, kind: &GroupVersionKind) -> Option<&Message> {
        self.message(&kind.group, &kind.version, &kind.kind)
    }

    /// The message with this id.
    pub fn get(&self, id: MessageId) -> &Message {
        &self.messages[usize::from(id.0)]
    }

    /// Every kind as (group, version, kind) with its message, in no order. Kinds that any group
    /// and version can carry, such as `DeleteOptions`, have `*` for both.
    pub fn kinds(&self) -> impl Iterator<Item = ((&'static str, &'static str, &'static str), &Message)> {
        self.kinds.iter().map(|(kind, id)| (*kind, self.get(*id)))
    }

    /// Every message.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }
}

/// A message: the fields of one Go struct.
#[derive(Debug)]
pub struct Message {
    name: &'static str,
    /// T1.
    fields: Box<[Field]>,
    /// What JSON sees, sorted by name: the fields of this message and of those it inlines.
    visible: Box<[Visible]>,
    /// Visible fields that Go writes to JSON even when they are zero, as a set of their slots.
    always: u64,
}

/// A field as JSON sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible {
    pub(crate) name: &'static str,
    /// Its place in a set of the message's visible fields (T2).
    pub(crate) slot: u8,
    /// The message that has the field: the one asked, or one that it inlines.
    owner: MessageId,
    /// Its position among the owner's fields.
    position: u8,
}

impl Message {
    /// `core.v1.Pod`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The fields by ascending number.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field with this number.
    #[inline]
    pub fn by_number(&self, number: u32) -> Option<&Field> {
        // Numbers mostly count from 1 without a gap.
        let guess = (number as usize).wrapping_sub(1);
        match self.fields.get(guess) {
            Some(field) if field.number == number => Some(field),
            _ => {
                let position = self.fields.binary_search_by_key(&number, |field| field.number).ok()?; // T1
                Some(&self.fields[position])
            }
        }
    }

    /// The field with this JSON name, if it is this message's own.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name && field.shape != Shape::Inline)
    }

    /// The field with this JSON name, be it this message's own or an inlined one's.
    pub(crate) fn visible(&self, name: &str) -> Option<&Visible> {
        let position = self.visible.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.visible[position])
    }

    /// As [`visible`](Self::visible), for keys that come in an order: it is looked for from `hint` on,
    /// which is then behind it. Where the order is that of the names, as in a sorted map, or where most
    /// lengths differ, few names are compared.
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

    /// The visible field in a slot.
    pub(crate) fn in_slot(&self, slot: u32) -> Option<&Visible> {
        self.visible.iter().find(|field| u32::from(field.slot) == slot)
    }

    /// The set of slots that JSON always shows.
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
    shape: Shape,
    form: Form,
    omit: Omit,
    patch: Option<Patch>,
    /// Its slot; of an inlined message, the slot of the first of its fields.
    slot: u8,
    /// JSON does not show a zero of it. Go writes many of them, each as a single byte 0 behind its
    /// tag: the number, or the length of a text, of a list of texts or of a time.
    hides_zero: bool,
}

impl Field {
    /// The JSON name; empty for an inlined message.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The protobuf number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many values, and whether it can be absent.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// What a value is.
    pub fn form(&self) -> Form {
        self.form
    }

    /// When Go leaves it out of JSON.
    pub fn omit(&self) -> Omit {
        self.omit
    }

    /// How a strategic merge patch treats it, where not by the defaults.
    pub fn patch(&self) -> Option<Patch> {
        self.patch
    }

    pub(crate) fn slot(&self) -> u8 {
        self.slot
    }

    pub(crate) fn hides_zero(&self) -> bool {
        self.hides_zero
    }
}

/// How many values a field has, and whether it can be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One, and zero is not told from absent.
    One,
    /// One or none: a pointer in Go.
    Optional,
    /// Any number, in order.
    List,
    /// Any number, by a text.
    Map,
    /// One message in protobuf, whose fields stand among those of its container in JSON.
    Inline,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `true` or `false`.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A floating-point number of 64 bits.
    Double,
    /// Text.
    String,
    /// Bytes; base64 in JSON.
    Bytes,
    /// Another message.
    Message(MessageId),
    /// A moment to the second.
    Time,
    /// A moment to the microsecond.
    MicroTime,
    /// An amount such as `500m` or `2Gi`.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// Any JSON, kept as it is.
    RawExtension,
    /// The JSON of a managed-fields entry.
    FieldsV1,
    /// Any JSON, in a schema.
    Json,
    /// A list of texts that protobuf wraps in a message of its own.
    Strings,
    /// A schema, or whether anything is allowed.
    SchemaOrBool(MessageId),
    /// A schema, or several.
    SchemaOrArray(MessageId),
    /// A schema, or names of properties.
    SchemaOrStrings(MessageId),
}

/// When Go leaves a field out of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omit {
    /// Never.
    Never,
    /// When it is false, 0, an empty text, list or map, or a nil pointer; never a message or a time.
    Empty,
    /// As `Empty`, and messages and times when they are zero.
    EmptyOrZero,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    /// What the patch does to what is there.
    pub strategy: PatchStrategy,
    /// Which field of an element tells the elements of a list apart.
    pub merge_key: Option<&'static str>,
}

/// What a strategic merge patch does to what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchStrategy {
    /// Lists are merged by element.
    Merge,
    /// Lists are replaced.
    Replace,
    /// Only the keys that the patch names are kept.
    RetainKeys,
    /// Both of the above: merged by element, and only the named keys are kept in each.
    MergeRetainKeys,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_table_can_be_read() {
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
    fn json_sees_the_fields_of_inlined_messages() {
        let schema = builtin();
        let volume = schema.messages().iter().find(|message| message.name() == "core.v1.Volume").unwrap();
        let secret = volume.visible("secret").unwrap();
        assert_eq!(secret.field(schema).name(), "secret");
        assert_ne!(secret.slot, volume.visible("name").unwrap().slot);
        assert!(volume.visible("volumeSource").is_none());
    }

    #[test]
    fn merge_keys_and_strategies_are_there() {
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
