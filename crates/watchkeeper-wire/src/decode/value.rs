//! A serde deserializer for a value of a protobuf message, equal to its JSON value.

use std::borrow::Cow;
use std::fmt::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Visitor};
use watchkeeper_core::Timestamp;

use super::DecodeError;
use super::fields::{Elements, Entries, Fields, Map};
use super::text::Text;
use crate::protobuf::{Cursor, Tag, Wire, read_time};
use crate::schema::{self, Field, Form, Message, Shape};
use crate::typed::message_of_token;
use crate::{Malformed, Problem, quantity};

/// The newtype name by which the transcoder requests the bytes of raw JSON.
pub(crate) const RAW_JSON: &str = "$watchkeeper::RawJson";

/// A value, parsed only as far as needed to know its type.
#[derive(Debug)]
pub(crate) enum Value<'a, 'de> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(&'de str),
    /// A quantity that is not in canonical form.
    Quantity(&'de str),
    Bytes(&'de [u8]),
    Time(Timestamp),
    MicroTime(Timestamp),
    Message(&'static Message, Cursor<'de>),
    /// Unchecked JSON.
    Raw(&'de [u8]),
    /// A list in a message of its own. The cursor is at its first tag.
    List(Form, Tag, Cursor<'de>),
    /// A list or a map, whose first tag is at the cursor of the message. The cursor moves past it.
    Run(&'static Field, Tag, &'a mut Cursor<'de>),
}

impl<'a, 'de> Value<'a, 'de> {
    /// Reads the payload after a tag.
    #[inline]
    pub(crate) fn read(form: Form, cursor: &mut Cursor<'de>) -> Result<Self, Malformed> {
        Ok(match form {
            Form::Bool => Value::Bool(cursor.varint()? != 0),
            Form::Int32 => Value::Int(i64::from(cursor.varint()? as i32)),
            Form::Int64 => Value::Int(cursor.varint()? as i64),
            Form::Double => Value::Double(f64::from_bits(cursor.fixed64()?)),
            Form::String => Value::Text(cursor.text()?),
            Form::Bytes => Value::Bytes(cursor.bytes()?),
            Form::Message(id) => Value::Message(schema::builtin().get(id), cursor.message()?),
            Form::Time => read_time(cursor.message()?)?.map_or(Value::Null, Value::Time),
            Form::MicroTime => read_time(cursor.message()?)?.map_or(Value::Null, Value::MicroTime),
            Form::Quantity => read_quantity(cursor.message()?)?,
            Form::IntOrString => read_int_or_string(cursor.message()?)?,
            Form::RawExtension | Form::FieldsV1 | Form::Json => match cursor.message()?.bytes_in(1)? {
                Some(raw) if !raw.is_empty() => Value::Raw(raw),
                _ => Value::Null,
            },
            Form::Strings => match Value::list(Form::String, 1, cursor.message()?)? {
                Value::Null => Value::empty_list(), // the message is present, so Go has an empty list
                list => list,
            },
            Form::SchemaOrBool(id) => {
                let message = cursor.message()?;
                match read_schema(message.clone(), 2)? {
                    Some(schema) => Value::Message(schema::builtin().get(id), schema),
                    None => Value::Bool(read_flag(message)?),
                }
            }
            Form::SchemaOrArray(id) => read_schemas(id, Form::Message(id), cursor.message()?)?,
            Form::SchemaOrStrings(id) => read_schemas(id, Form::String, cursor.message()?)?,
        })
    }

    /// Returns the JSON value of an absent field.
    pub(crate) fn zero(field: &Field) -> Self {
        match field.shape() {
            Shape::One => Self::zero_of(field.form()),
            _ => Value::Null,
        }
    }

    /// Returns the JSON value of an absent form.
    pub(crate) fn zero_of(form: Form) -> Self {
        match form {
            Form::Bool | Form::SchemaOrBool(_) => Value::Bool(false),
            Form::Int32 | Form::Int64 | Form::IntOrString => Value::Int(0),
            Form::Double => Value::Double(0.0),
            Form::String => Value::Text(""),
            Form::Quantity => Value::Text("0"),
            Form::Message(id) => Value::Message(schema::builtin().get(id), Cursor::new(&[])),
            _ => Value::Null,
        }
    }

    /// Returns the list in a field of a message; null if it has no elements, as in Go.
    fn list(form: Form, number: u32, mut cursor: Cursor<'de>) -> Result<Self, Malformed> {
        loop {
            let start = cursor.clone();
            let Some(tag) = cursor.tag()? else { return Ok(Value::Null) };
            if tag.field == number {
                cursor.expect(tag, Wire::Bytes)?;
                return Ok(Value::List(form, tag, start));
            }
            cursor.skip(tag.wire)?;
        }
    }

    pub(super) fn empty_list() -> Self {
        Value::List(Form::String, Tag { field: 1, wire: Wire::Bytes }, Cursor::new(&[]))
    }
}

/// Reads a quantity. Go normalizes quantities whenever it reads them.
fn read_quantity<'a, 'de>(mut cursor: Cursor<'de>) -> Result<Value<'a, 'de>, Malformed> {
    let (mut text, mut at) = ("0", cursor.offset());
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => {
                text = cursor.text()?;
                at = cursor.offset() - text.len();
            }
            (1, _) => cursor.expect(tag, Wire::Bytes)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    match quantity::canonical(text) {
        Some(canonical) if canonical == text => Ok(Value::Text(text)),
        Some(_) => Ok(Value::Quantity(text)),
        None => Err(Malformed::new(at, Problem::bad_value("a quantity such as 500m or 2Gi", text))),
    }
}

fn read_int_or_string<'a, 'de>(mut cursor: Cursor<'de>) -> Result<Value<'a, 'de>, Malformed> {
    let (mut kind, mut int, mut text) = (0, 0, "");
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Varint) => kind = cursor.varint()?,
            (2, Wire::Varint) => int = cursor.varint()? as i32,
            (3, Wire::Bytes) => text = cursor.text()?,
            (1 | 2, _) => cursor.expect(tag, Wire::Varint)?,
            (3, _) => cursor.expect(tag, Wire::Bytes)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    match kind {
        0 => Ok(Value::Int(i64::from(int))),
        1 => Ok(Value::Text(text)),
        other => {
            let expected = "type 0 or 1 of an IntOrString";
            cursor.fail(Problem::BadValue { expected, found: other.to_string() })
        }
    }
}

fn read_schema(mut cursor: Cursor<'_>, number: u32) -> Result<Option<Cursor<'_>>, Malformed> {
    let mut schema = None;
    while let Some(tag) = cursor.tag()? {
        if tag.field == number {
            cursor.expect(tag, Wire::Bytes)?;
            schema = Some(cursor.message()?);
        } else {
            cursor.skip(tag.wire)?;
        }
    }
    Ok(schema)
}

fn read_flag(mut cursor: Cursor<'_>) -> Result<bool, Malformed> {
    let mut flag = false;
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Varint) => flag = cursor.varint()? != 0,
            (1, _) => cursor.expect(tag, Wire::Varint)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok(flag)
}

/// A list in field 2 takes precedence over a schema in field 1.
fn read_schemas<'a, 'de>(
    id: schema::MessageId,
    form: Form,
    message: Cursor<'de>,
) -> Result<Value<'a, 'de>, Malformed> {
    match Value::list(form, 2, message.clone())? {
        Value::Null => {
            let schema = read_schema(message, 1)?;
            Ok(schema.map_or(Value::Null, |schema| Value::Message(schema::builtin().get(id), schema)))
        }
        list => Ok(list),
    }
}

/// A value and its nesting depth.
///
/// Its deserializer is a reference, so that visitors of options and newtypes pass on a pointer.
#[derive(Debug)]
pub(crate) struct Nested<'a, 'de> {
    pub(super) value: Value<'a, 'de>,
    pub(super) depth: usize,
}

impl<'de> Deserializer<'de> for &mut Nested<'_, 'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let depth = self.depth;
        match &mut self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Int(number) => visitor.visit_i64(*number),
            Value::Double(number) => visitor.visit_f64(*number),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Quantity(text) => visitor.visit_string(canonical_quantity(text)),
            Value::Bytes(bytes) => visitor.visit_string(STANDARD.encode(bytes)),
            Value::Time(time) => visitor.visit_str(Formatted::of(*time).as_str()),
            Value::MicroTime(time) => visitor.visit_str(Formatted::of(time.display_micro()).as_str()),
            Value::Message(message, cursor) => {
                visitor.visit_map(Map::Fields(&mut Fields::below(depth, message, cursor.clone())?))
            }
            Value::Raw(raw) => visit_raw(visitor, raw),
            Value::Run(field, tag, cursor) if field.shape() == Shape::Map => {
                visit_entries(visitor, Entries::new(field.form(), *tag, cursor, depth))
            }
            Value::Run(field, tag, cursor) => {
                visit_elements(visitor, Elements::new(field.form(), *tag, cursor, depth))
            }
            Value::List(form, tag, cursor) => {
                visit_elements(visitor, Elements::new(*form, *tag, cursor, depth))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Raw(raw) if name == RAW_JSON => visitor.visit_borrowed_bytes(raw),
            _ if name == RAW_JSON => self.deserialize_any(visitor),
            Value::Message(message, ref cursor) => match message_of_token(name) {
                Some(expected) if expected == message.name() => visitor.visit_borrowed_bytes(cursor.rest()),
                Some(expected) => Err(DecodeError::wrong_type(expected, message.name())),
                None => visitor.visit_newtype_struct(self),
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.value {
            Value::Text(text) => Text::new(text).deserialize_enum(name, variants, visitor),
            Value::Message(message, cursor) => {
                let mut fields = Fields::below(self.depth, message, cursor.clone())?;
                visitor.visit_enum(MapAccessDeserializer::new(Map::Fields(&mut fields)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit() // decode.D2
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier
    }
}

// Functions rather than arms of `deserialize_any`, whose stack frame exists once for each level of a nested object.

fn visit_elements<'de, V: Visitor<'de>>(
    visitor: V,
    list: Elements<'_, 'de>,
) -> Result<V::Value, DecodeError> {
    visitor.visit_seq(list)
}

fn visit_entries<'de, V: Visitor<'de>>(
    visitor: V,
    mut map: Entries<'_, 'de>,
) -> Result<V::Value, DecodeError> {
    visitor.visit_map(Map::Entries(&mut map))
}

#[cold]
fn canonical_quantity(text: &str) -> String {
    quantity::canonical(text).map_or_else(String::new, Cow::into_owned) // checked when it was read
}

fn visit_raw<'de, V: Visitor<'de>>(visitor: V, raw: &'de [u8]) -> Result<V::Value, DecodeError> {
    let text = std::str::from_utf8(raw)
        .map_err(|error| Malformed::new(error.valid_up_to(), Problem::InvalidUtf8))?;
    // Not `from_slice`: each visitor would be compiled for a second reader.
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = (&mut reader).deserialize_any(visitor).map_err(DecodeError::Json)?;
    reader.end().map_err(DecodeError::Json)?;
    Ok(value)
}

/// A short string that was formatted without an allocation.
struct Formatted {
    text: [u8; Self::LENGTH],
    length: usize,
}

impl Formatted {
    /// Longer than any timestamp.
    const LENGTH: usize = 48;

    fn of(value: impl fmt::Display) -> Self {
        let mut formatted = Self { text: [0; Self::LENGTH], length: 0 };
        write!(formatted, "{value}").expect("timestamps fit the buffer");
        formatted
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..self.length]).expect("formatted as UTF-8")
    }
}

impl Write for Formatted {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.text.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}
