//! A serde map over the fields of a protobuf message, equal to the JSON object that Go writes for
//! it (`decode.D1`).

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::DecodeError;
use super::json::type_entries;
use super::text::Text;
use super::value::{Nested, Source, Value};
use crate::limits::MESSAGE_DEPTH;
use crate::protobuf::{Cursor, Tag, Wire};
use crate::schema::{self, Field, Form, Message, Shape};
use crate::{Kind, Malformed, Problem};

/// The entries of a message: fields in the order of the bytes, then absent ones that JSON shows.
#[derive(Debug)]
pub(crate) struct Fields<'de> {
    message: &'static Message,
    /// The message being read: the outer one, or one inlined in it.
    level: Level<'de>,
    /// The messages that contain it.
    outer: Vec<Level<'de>>,
    depth: usize,
    /// Slots of the fields read so far.
    seen: u64,
    types: Vec<(&'static str, &'de str)>,
    pending: Pending<'de>,
}

#[derive(Debug, Clone)]
struct Level<'de> {
    message: &'static Message,
    cursor: Cursor<'de>,
    /// Slot of the first field.
    slot: u8,
}

/// The value of the last returned key.
#[derive(Debug)]
enum Pending<'de> {
    None,
    Type(&'de str),
    /// A field that is absent from the bytes.
    Missing(&'static Field),
    /// A single value; the cursor is at its payload.
    One(&'static Field),
    /// A list or a map; the cursor is at its first payload.
    Run(&'static Field, Tag),
}

impl<'de> Fields<'de> {
    /// Creates the fields of an object, starting with its type.
    pub(crate) fn of(bytes: &'de [u8], kind: &'de Kind) -> Result<Self, DecodeError> {
        let mut fields = Self::untyped(bytes, kind)?;
        fields.types = type_entries(kind);
        Ok(fields)
    }

    /// Creates the fields of an object, without its type.
    pub(crate) fn untyped(bytes: &'de [u8], kind: &Kind) -> Result<Self, DecodeError> {
        Ok(Self::below(kind.require_message()?, Cursor::new(bytes), 0)?)
    }

    /// Creates the fields of a nested message.
    pub(crate) fn below(
        message: &'static Message,
        cursor: Cursor<'de>,
        depth: usize,
    ) -> Result<Self, Malformed> {
        if depth > MESSAGE_DEPTH {
            return cursor.fail(Problem::TooDeep { limit: MESSAGE_DEPTH });
        }
        let level = Level { message, cursor, slot: 0 };
        let (outer, types) = (Vec::new(), Vec::new());
        Ok(Self { message, level, outer, depth, seen: 0, types, pending: Pending::None })
    }

    /// Moves to the next field that appears in JSON, and returns its name.
    fn advance(&mut self) -> Result<Option<&'static str>, Malformed> {
        loop {
            let level = &mut self.level;
            let Some(tag) = level.cursor.tag()? else {
                match self.outer.pop() {
                    Some(outer) => self.level = outer,
                    None => return Ok(self.advance_missing()),
                }
                continue;
            };
            let Some(field) = level.message.by_number(tag.field) else {
                level.cursor.skip(tag.wire)?;
                continue;
            };
            level.cursor.expect(tag, payload_wire(field))?;
            let slot = level.slot + field.slot();
            if field.shape() == Shape::Inline {
                let Form::Message(id) = field.form() else { unreachable!("checked when the table is read") };
                let cursor = level.cursor.message()?;
                let inlined = Level { message: schema::builtin().get(id), cursor, slot };
                self.outer.push(std::mem::replace(level, inlined));
                continue;
            }
            if self.seen & 1 << slot != 0 {
                return level.cursor.fail(Problem::ScatteredField { field: tag.field });
            }
            self.seen |= 1 << slot;
            if field.hides_zero() && level.cursor.take_zero() {
                continue;
            }
            self.pending = match field.shape() {
                Shape::List | Shape::Map => Pending::Run(field, tag),
                _ => Pending::One(field),
            };
            return Ok(Some(field.name()));
        }
    }

    /// Moves to the next absent field that appears in JSON.
    fn advance_missing(&mut self) -> Option<&'static str> {
        let missing = self.message.always() & !self.seen;
        if missing == 0 {
            return None;
        }
        let slot = missing.trailing_zeros();
        self.seen |= 1 << slot;
        let visible =
            self.message.in_slot(slot).expect("schema.T2: every slot of the set is a visible field");
        self.pending = Pending::Missing(visible.field(schema::builtin()));
        Some(visible.name)
    }
}

/// Returns the wire type of a field. An entry of a map is always a message.
fn payload_wire(field: &Field) -> Wire {
    match field.shape() {
        Shape::Map => Wire::Bytes,
        _ => Value::wire(field.form()),
    }
}

/// A JSON object: the fields of a message, or the entries of a map.
///
/// One type for both, so that the code of each visitor is compiled once. Types are decoded in their users' crates, and this
/// code is most of what such a crate compiles.
#[derive(Debug)]
pub(crate) enum Map<'a, 'de> {
    Fields(Fields<'de>),
    Entries(Entries<'a, 'de>),
}

impl<'de> MapAccess<'de> for Map<'_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let name = match self {
            Self::Fields(fields) => fields.next_name()?,
            Self::Entries(entries) => entries.next_key()?,
        };
        name.map(|name| seed.deserialize(Text::new(name))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        // One call of `seed.deserialize` for all single values: each call may be compiled as a copy.
        let (value, depth) = match self {
            Self::Fields(fields) => match fields.pending {
                Pending::Run(field, tag) => {
                    let mut rest = Rest::new(tag, fields.level.cursor.clone()); // the key is from this level
                    let source = Source::Run(field, &mut rest);
                    let value = seed.deserialize(Nested { source, depth: fields.depth })?;
                    fields.finish_run(rest)?;
                    return Ok(value);
                }
                _ => (fields.next_value()?, fields.depth),
            },
            Self::Entries(entries) => (entries.next_value()?, entries.depth),
        };
        seed.deserialize(Nested { source: Source::One(value), depth })
    }
}

impl<'de> Fields<'de> {
    /// Moves to the next entry, and returns its name.
    fn next_name(&mut self) -> Result<Option<&'de str>, DecodeError> {
        match self.types.pop() {
            Some((name, value)) => {
                self.pending = Pending::Type(value);
                Ok(Some(name))
            }
            None => Ok(self.advance()?),
        }
    }

    /// Returns the value of the current entry, which is neither a list nor a map.
    fn next_value(&mut self) -> Result<Value<'de>, DecodeError> {
        Ok(match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::Type(text) => Value::Text(text),
            Pending::Missing(field) => Value::zero(field),
            Pending::One(field) => Value::read(field.form(), &mut self.level.cursor)?,
            Pending::None | Pending::Run(..) => {
                return Err(DecodeError::custom("value requested before its key"));
            }
        })
    }

    /// Moves past a list or a map, including elements that were not requested (`decode.D2`).
    fn finish_run(&mut self, mut rest: Rest<'de>) -> Result<(), Malformed> {
        rest.drain()?;
        self.level.cursor = rest.cursor;
        self.pending = Pending::None;
        Ok(())
    }
}

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Map::Fields(self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The remaining payloads of a repeated field.
#[derive(Debug)]
pub(crate) struct Rest<'de> {
    tag: Tag,
    cursor: Cursor<'de>,
    /// Whether the cursor is at a payload rather than a tag.
    at_payload: bool,
}

impl<'de> Rest<'de> {
    /// Creates the rest of a field whose first tag was just read.
    pub(super) fn new(tag: Tag, cursor: Cursor<'de>) -> Self {
        Self { tag, cursor, at_payload: true }
    }

    /// Creates a rest without payloads.
    pub(super) fn none() -> Self {
        Self { tag: Tag { field: 0, wire: Wire::Bytes }, cursor: Cursor::new(&[]), at_payload: false }
    }

    /// Moves to the next payload; returns whether there is one.
    fn next(&mut self) -> bool {
        std::mem::take(&mut self.at_payload) || self.cursor.tag_if(self.tag)
    }

    /// Counts the remaining payloads, so that a list of large elements is allocated once.
    fn count(&self) -> Option<usize> {
        let mut ahead = Rest { tag: self.tag, cursor: self.cursor.clone(), at_payload: self.at_payload };
        let mut count = 0;
        while ahead.next() {
            ahead.cursor.skip(self.tag.wire).ok()?;
            count += 1;
        }
        Some(count)
    }

    /// Skips the remaining payloads (`decode.D2`).
    fn drain(&mut self) -> Result<(), Malformed> {
        while self.next() {
            self.cursor.skip(self.tag.wire)?;
        }
        Ok(())
    }
}

/// The elements of a list.
#[derive(Debug)]
pub(super) struct Elements<'a, 'de> {
    pub(super) form: Form,
    pub(super) rest: &'a mut Rest<'de>,
    pub(super) depth: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        if !self.rest.next() {
            return Ok(None);
        }
        let source = Source::One(Value::read(self.form, &mut self.rest.cursor)?);
        seed.deserialize(Nested { source, depth: self.depth }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.rest.count()
    }
}

/// The entries of a map.
#[derive(Debug)]
pub(crate) struct Entries<'a, 'de> {
    form: Form,
    rest: &'a mut Rest<'de>,
    value: Option<Value<'de>>,
    depth: usize,
}

impl<'a, 'de> Entries<'a, 'de> {
    pub(super) fn new(form: Form, rest: &'a mut Rest<'de>, depth: usize) -> Self {
        Self { form, rest, value: None, depth }
    }

    /// Reads the next entry, and returns its key.
    fn next_key(&mut self) -> Result<Option<&'de str>, DecodeError> {
        if !self.rest.next() {
            return Ok(None);
        }
        let (key, value) = read_entry(self.form, self.rest.cursor.message()?)?;
        self.value = Some(value);
        Ok(Some(key))
    }

    fn next_value(&mut self) -> Result<Value<'de>, DecodeError> {
        self.value.take().ok_or_else(|| DecodeError::custom("value requested before its key"))
    }
}

/// Reads an entry: the key in field 1, the value in field 2, each zero if absent.
fn read_entry(form: Form, mut cursor: Cursor<'_>) -> Result<(&str, Value<'_>), Malformed> {
    let (mut key, mut value) = ("", None);
    while let Some(tag) = cursor.tag()? {
        match tag.field {
            1 => {
                cursor.expect(tag, Wire::Bytes)?;
                key = cursor.text()?;
            }
            2 => {
                cursor.expect(tag, Value::wire(form))?;
                value = Some(Value::read(form, &mut cursor)?);
            }
            _ => cursor.skip(tag.wire)?,
        }
    }
    let value = match (value, form) {
        (Some(value), _) => value,
        // In a map, Go decodes an absent value as an empty one.
        (None, Form::Bytes) => Value::Bytes(&[]),
        (None, Form::Strings) => Value::EmptyList,
        (None, form) => Value::zero_of(form),
    };
    Ok((key, value))
}
