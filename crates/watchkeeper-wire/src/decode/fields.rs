//! A serde map over the fields of a protobuf message, equal to the JSON object that Go writes for
//! it (`decode.D1`).

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::DecodeError;
use super::json::TypeEntries;
use super::text::Text;
use super::value::{Nested, Value};
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
    types: Option<TypeEntries<'de>>,
    pending: Pending<'de>,
}

#[derive(Debug)]
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
    /// A list or a map; the cursor is at its first tag.
    Run(&'static Field, Tag),
    /// A list or a map that was returned. Elements may be left, which were not requested (`decode.D2`).
    Rest(Tag),
}

impl<'de> Fields<'de> {
    /// Creates the fields of an object, starting with its type.
    pub(crate) fn of(bytes: &'de [u8], kind: &'de Kind) -> Result<Self, DecodeError> {
        let mut fields = Self::untyped(bytes, kind)?;
        fields.types = Some(TypeEntries::of(kind));
        Ok(fields)
    }

    /// Creates the fields of an object, without its type.
    pub(crate) fn untyped(bytes: &'de [u8], kind: &Kind) -> Result<Self, DecodeError> {
        Ok(Self::at(0, kind.require_message()?, Cursor::new(bytes)))
    }

    /// Creates the fields of a message in an object of `depth`.
    #[inline]
    pub(super) fn below(
        depth: usize,
        message: &'static Message,
        cursor: Cursor<'de>,
    ) -> Result<Self, Malformed> {
        if depth >= MESSAGE_DEPTH {
            return cursor.fail(Problem::TooDeep { limit: MESSAGE_DEPTH });
        }
        Ok(Self::at(depth + 1, message, cursor))
    }

    #[inline]
    fn at(depth: usize, message: &'static Message, cursor: Cursor<'de>) -> Self {
        let level = Level { message, cursor, slot: 0 };
        Self { message, level, outer: Vec::new(), depth, seen: 0, types: None, pending: Pending::None }
    }

    /// Moves to the next entry, and returns its name.
    fn next_name(&mut self) -> Result<Option<&'de str>, DecodeError> {
        if let Pending::Run(_, tag) | Pending::Rest(tag) = self.pending {
            self.level.cursor.skip_all(tag)?;
        }
        if let Some(types) = &mut self.types
            && let Some((name, value)) = types.next()
        {
            self.pending = Pending::Type(value);
            return Ok(Some(name));
        }
        Ok(self.advance()?)
    }

    /// Returns the value of the current entry.
    fn next_value(&mut self) -> Result<Value<'_, 'de>, DecodeError> {
        Ok(match std::mem::replace(&mut self.pending, Pending::None) {
            Pending::One(field) => Value::read(field.form(), &mut self.level.cursor)?,
            Pending::Run(field, tag) => {
                self.pending = Pending::Rest(tag);
                Value::Run(field, tag, &mut self.level.cursor) // the key is from this level
            }
            Pending::Type(text) => Value::Text(text),
            Pending::Missing(field) => Value::zero(field),
            Pending::None | Pending::Rest(_) => return Err(no_key()),
        })
    }

    /// Moves to the next field that appears in JSON, and returns its name.
    #[inline]
    fn advance(&mut self) -> Result<Option<&'static str>, Malformed> {
        loop {
            let level = &mut self.level;
            if level.cursor.is_empty() {
                match self.outer.pop() {
                    Some(outer) => self.level = outer,
                    None => return Ok(self.advance_missing()),
                }
                continue;
            }
            let start = level.cursor.clone();
            let key = level.cursor.varint()?;
            let Some(field) = level.message.by_number((key >> 3) as u32).filter(|field| field.key() == key)
            else {
                level.cursor = start;
                level.cursor.skip_unknown(level.message)?;
                continue;
            };
            let slot = level.slot + field.slot();
            let is_run = match field.shape() {
                Shape::One | Shape::Optional => false,
                Shape::List | Shape::Map => true,
                Shape::Inline => {
                    let Form::Message(id) = field.form() else {
                        unreachable!("checked when the table is read")
                    };
                    let cursor = level.cursor.message()?;
                    let inlined = Level { message: schema::builtin().get(id), cursor, slot };
                    self.outer.push(std::mem::replace(level, inlined));
                    continue;
                }
            };
            if self.seen & 1 << slot != 0 {
                return level.cursor.fail(Problem::ScatteredField { field: field.number() });
            }
            self.seen |= 1 << slot;
            if field.hides_zero() && level.cursor.take_zero() {
                continue;
            }
            self.pending = if is_run {
                level.cursor = start;
                Pending::Run(field, field.tag())
            } else {
                Pending::One(field)
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

#[cold]
fn no_key() -> DecodeError {
    DecodeError::custom("value requested before its key")
}

/// A JSON object: the fields of a message, or the entries of a map.
///
/// One type for both, so that the code of each visitor is compiled once. Types are decoded in their users' crates, and this
/// code is most of what such a crate compiles. What does not depend on a visitor's type is thus a function of this crate.
#[derive(Debug)]
pub(crate) enum Map<'m, 'a, 'de> {
    Fields(&'m mut Fields<'de>),
    Entries(&'m mut Entries<'a, 'de>),
}

impl<'de> Map<'_, '_, 'de> {
    fn next_key(&mut self) -> Result<Option<&'de str>, DecodeError> {
        match self {
            Self::Fields(fields) => fields.next_name(),
            Self::Entries(entries) => entries.next_key(),
        }
    }

    fn next_value(&mut self) -> Result<Nested<'_, 'de>, DecodeError> {
        match self {
            Self::Fields(fields) => {
                let depth = fields.depth;
                Ok(Nested { value: fields.next_value()?, depth })
            }
            Self::Entries(entries) => {
                let value = entries.value.take().ok_or_else(no_key)?;
                Ok(Nested { value, depth: entries.depth })
            }
        }
    }
}

impl<'de> MapAccess<'de> for Map<'_, '_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        match self.next_key()? {
            Some(name) => seed.deserialize(Text::new(name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        seed.deserialize(&mut self.next_value()?)
    }
}

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Map::Fields(&mut self))
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

/// The elements of a list.
#[derive(Debug)]
pub(super) struct Elements<'a, 'de> {
    form: Form,
    tag: Tag,
    /// At the tag of the next element, or behind the last one.
    cursor: &'a mut Cursor<'de>,
    depth: usize,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    pub(super) fn new(form: Form, tag: Tag, cursor: &'a mut Cursor<'de>, depth: usize) -> Self {
        Self { form, tag, cursor, depth }
    }

    fn next(&mut self) -> Result<Option<Nested<'_, 'de>>, DecodeError> {
        if !self.cursor.tag_if(self.tag) {
            return Ok(None);
        }
        let value = Value::read(self.form, self.cursor)?;
        Ok(Some(Nested { value, depth: self.depth }))
    }

    /// Counts the remaining elements.
    fn count(&self) -> Option<usize> {
        let (mut ahead, mut count) = (self.cursor.clone(), 0);
        while ahead.tag_if(self.tag) {
            ahead.skip(self.tag.wire).ok()?;
            count += 1;
        }
        Some(count)
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        match self.next()? {
            Some(mut element) => seed.deserialize(&mut element).map(Some),
            None => Ok(None),
        }
    }

    /// A list of large elements is allocated once.
    fn size_hint(&self) -> Option<usize> {
        self.count()
    }
}

/// The entries of a map.
#[derive(Debug)]
pub(crate) struct Entries<'a, 'de> {
    form: Form,
    tag: Tag,
    /// At the tag of the next entry, or behind the last one.
    cursor: &'a mut Cursor<'de>,
    value: Option<Value<'a, 'de>>,
    depth: usize,
}

impl<'a, 'de> Entries<'a, 'de> {
    #[inline]
    pub(super) fn new(form: Form, tag: Tag, cursor: &'a mut Cursor<'de>, depth: usize) -> Self {
        Self { form, tag, cursor, value: None, depth }
    }

    /// Reads the next entry, and returns its key.
    fn next_key(&mut self) -> Result<Option<&'de str>, DecodeError> {
        if !self.cursor.tag_if(self.tag) {
            return Ok(None);
        }
        let (key, value) = read_entry(self.form, self.cursor.message()?)?;
        self.value = Some(value);
        Ok(Some(key))
    }
}

/// Reads an entry: the key in field 1, the value in field 2, each zero if absent.
fn read_entry<'a, 'de>(form: Form, mut cursor: Cursor<'de>) -> Result<(&'de str, Value<'a, 'de>), Malformed> {
    let (mut key, mut value) = ("", None);
    while let Some(tag) = cursor.tag()? {
        match tag.field {
            1 => {
                cursor.expect(tag, Wire::Bytes)?;
                key = cursor.text()?;
            }
            2 => {
                cursor.expect(tag, form.wire())?;
                value = Some(Value::read(form, &mut cursor)?);
            }
            _ => cursor.skip(tag.wire)?,
        }
    }
    let value = match (value, form) {
        (Some(value), _) => value,
        // In a map, Go decodes an absent value as an empty one.
        (None, Form::Bytes) => Value::Bytes(&[]),
        (None, Form::Strings) => Value::empty_list(),
        (None, form) => Value::zero_of(form),
    };
    Ok((key, value))
}
