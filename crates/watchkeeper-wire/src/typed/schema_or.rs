//! Fields of a custom resource's schema that are a schema or something else.

use super::encoder::put_message;
use super::values::{read_strings, write_list};
use super::{Decoder, Error, Message, Str, Value};
use crate::json::Shape;
use crate::protobuf::{Cursor, Wire, put_bytes, put_tag, put_varint};
use crate::schema::Form;

/// A schema or a boolean.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum OrBool<T> {
    /// Whether any value is allowed.
    Bool(bool),
    /// A schema.
    Schema(Box<T>),
}

/// A schema or a list of schemas.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum OrArray<T> {
    /// A list of schemas.
    Array(Vec<T>),
    /// A schema.
    Schema(Box<T>),
}

/// A schema or the names of properties.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum OrStrings<T> {
    /// The names of properties.
    Strings(Vec<Str>),
    /// A schema.
    Schema(Box<T>),
}

impl<T> Default for OrBool<T> {
    fn default() -> Self {
        Self::Bool(false)
    }
}

impl<T> Default for OrArray<T> {
    fn default() -> Self {
        Self::Array(Vec::new())
    }
}

impl<T> Default for OrStrings<T> {
    fn default() -> Self {
        Self::Strings(Vec::new())
    }
}

impl<T> From<T> for OrArray<T> {
    fn from(schema: T) -> Self {
        Self::Schema(Box::new(schema))
    }
}

impl<T: Message> Value for OrBool<T> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        let Some(mut message) = from.wrapper()? else {
            *self = match from.peek()? {
                Shape::Object => Self::Schema(object(form, from)?),
                _ => Self::Bool(from.boolean()?),
            };
            return Ok(());
        };
        let mut allows = false;
        let schema = message.clone();
        while let Some(tag) = message.tag()? {
            match tag.field {
                1 => {
                    message.expect(tag, Wire::Varint)?;
                    allows = message.varint()? != 0;
                }
                _ => message.skip(tag.wire)?,
            }
        }
        *self = schema_in(2, schema, form, from)?.map_or(Self::Bool(allows), Self::Schema);
        Ok(())
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Bool(false))
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        match self {
            Self::Bool(allows) => allows.write_json(form, out),
            Self::Schema(schema) => schema.as_ref().write_json(form, out),
        }
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| {
            put_tag(out, 1, Wire::Varint);
            put_varint(out, u64::from(!matches!(self, Self::Bool(false))));
            if let Self::Schema(schema) = self {
                schema.as_ref().write_protobuf(2, form, out);
            }
        });
    }
}

impl<T: Message> Value for OrArray<T> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        let mut array = Vec::new();
        let Some(message) = from.wrapper()? else {
            match from.peek()? {
                Shape::Object => *self = Self::Schema(object(form, from)?),
                Shape::Array => {
                    from.elements(&mut array, form)?;
                    *self = Self::Array(array);
                }
                _ => drop(from.reader()?.raw()?), // as Go, ignores other values
            }
            return Ok(());
        };
        messages_in(2, message.clone(), form, from, &mut array)?;
        *self = match array.is_empty() {
            false => Self::Array(array),
            true => schema_in(1, message, form, from)?.map_or(Self::Array(array), Self::Schema),
        };
        Ok(())
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Array(schemas) if schemas.is_empty())
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        match self {
            Self::Array(schemas) => schemas.write_json(form, out),
            Self::Schema(schema) => schema.as_ref().write_json(form, out),
        }
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| match self {
            Self::Array(schemas) => schemas.write_protobuf(2, form, out),
            Self::Schema(schema) => schema.as_ref().write_protobuf(1, form, out),
        });
    }
}

impl<T: Message> Value for OrStrings<T> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        let mut strings = Vec::new();
        let Some(message) = from.wrapper()? else {
            match from.peek()? {
                Shape::Object => *self = Self::Schema(object(form, from)?),
                Shape::Array => {
                    from.elements(&mut strings, Form::String)?;
                    *self = Self::Strings(strings);
                }
                _ => drop(from.reader()?.raw()?), // as Go, ignores other values
            }
            return Ok(());
        };
        read_strings(&mut strings, 2, message.clone(), from)?;
        *self = match strings.is_empty() {
            false => Self::Strings(strings),
            true => schema_in(1, message, form, from)?.map_or(Self::Strings(strings), Self::Schema),
        };
        Ok(())
    }

    fn is_zero(&self) -> bool {
        matches!(self, Self::Strings(strings) if strings.is_empty())
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        match self {
            Self::Strings(strings) if strings.is_empty() => out.extend_from_slice(b"null"),
            Self::Strings(strings) => write_list(strings, out, |text, out| text.write_json(form, out)),
            Self::Schema(schema) => schema.as_ref().write_json(form, out),
        }
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| match self {
            Self::Strings(strings) => strings.iter().for_each(|text| put_bytes(out, 2, text.as_bytes())),
            Self::Schema(schema) => schema.as_ref().write_protobuf(1, form, out),
        });
    }
}

/// An optional one of these.
macro_rules! optional {
    ($($type:ident),+) => {
        $(impl<T: Message> Value for Option<$type<T>> {
            fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
                self.insert(Default::default()).read(form, from)
            }

            fn is_zero(&self) -> bool {
                self.is_none()
            }

            fn write_json(&self, form: Form, out: &mut Vec<u8>) {
                match self {
                    Some(value) => value.write_json(form, out),
                    None => out.extend_from_slice(b"null"),
                }
            }

            fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
                if let Some(value) = self {
                    value.write_protobuf(number, form, out);
                }
            }
        })+
    };
}

optional!(OrBool, OrArray, OrStrings);

fn object<T: Message>(form: Form, from: &mut Decoder<'_>) -> Result<Box<T>, Error> {
    let mut schema = Box::<T>::default();
    from.message(form, &mut *schema)?;
    Ok(schema)
}

/// Reads the schema in a field of a message.
fn schema_in<'a, T: Message>(
    number: u32,
    message: Cursor<'a>,
    form: Form,
    from: &mut Decoder<'a>,
) -> Result<Option<Box<T>>, Error> {
    let mut schemas = Vec::new();
    messages_in(number, message, form, from, &mut schemas)?;
    Ok(schemas.pop().map(Box::new))
}

/// Reads the messages in a field of a message.
fn messages_in<'a, T: Message>(
    number: u32,
    message: Cursor<'a>,
    form: Form,
    from: &mut Decoder<'a>,
    into: &mut Vec<T>,
) -> Result<(), Error> {
    from.within(message, |from| from.each(number, |from| from.elements(into, form)))?;
    into.shrink_to_fit();
    Ok(())
}
