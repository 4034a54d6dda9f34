//! Generated types: decodes and encodes Rust types whose fields are those of a message of the [`schema`].
//!
//! Input: JSON or protobuf, or any serde format.
//! Output: types such as `Pod` of `watchkeeper-kinds`, and their JSON and protobuf as Go writes them.
//!
//! A generated type only gives access to its fields by slot ([`Fields`]); names, numbers and the rules for zeros are in
//! the schema tables. So the code of the codecs exists once, not once per type, and there is no tree in between.
//!
//! - `typed.M1`: decoding the JSON and the protobuf of an object yields equal values.
//! - `typed.M2`: encoding a decoded object yields the bytes that Go writes for it, except that a field that is empty is
//!   written as one that is nil.
//! - `typed.M3`: unknown fields are skipped.
//! - `typed.M4`: a list or map that was decoded has no spare capacity.

mod cache;
mod decoder;
mod encoder;
mod map;
mod schema_or;
mod serde;
mod values;

use std::fmt;

pub use decoder::Decoder;
pub use map::Map;
pub use schema_or::{OrArray, OrBool, OrStrings};
pub use serde::{deserialize, serialize};
pub use values::{ByteString, IntOrString, MicroTime, Quantity, QuantityError, RawJson, Strings, Time};

use decoder::{decode_json, decode_protobuf};
pub(crate) use serde::message_of_token;

use crate::Malformed;
use crate::schema::{self, Form};

/// An error of a field. Boxed, so that returning it costs one register where there is none.
pub type Error = Box<Malformed>;

/// A string of a generated type: up to 15 bytes are stored inline, longer ones are shared by clones.
///
/// Decoding shares equal strings between objects, such as images, node names and labels.
pub type Str = ecow::EcoString;

/// Access to the fields of a generated type, by their slot in the schema.
pub trait Fields: fmt::Debug {
    /// Returns the field in a slot.
    fn get(&self, slot: u8) -> Option<&dyn Value>;

    /// Returns the field in a slot, for writing.
    fn get_mut(&mut self, slot: u8) -> Option<&mut dyn Value>;
}

/// A generated type.
pub trait Message: Fields + Default + 'static {
    /// The name of the message in the schema: `core.v1.Pod`.
    const NAME: &'static str;
    /// `NAME` with a prefix, for serde.
    const TOKEN: &'static str;
    /// The `apiVersion` and `kind` of an API object; `None` for a part of one.
    const TYPE: Option<(&'static str, &'static str)>;

    /// Returns the message in the schema.
    fn schema() -> &'static schema::Message;
}

/// The type of a field.
pub trait Value: fmt::Debug {
    /// Reads a value, or in protobuf one element of a list or map.
    ///
    /// # Errors
    /// If the input is malformed or has another type.
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error>;

    /// Returns whether Go regards this as the zero value.
    fn is_zero(&self) -> bool;

    /// Appends the value as JSON.
    fn write_json(&self, form: Form, out: &mut Vec<u8>);

    /// Appends the value as a protobuf field: nothing for an absent value, and several fields for a list or map.
    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>);

    /// Makes room for the elements that follow.
    fn reserve(&mut self, _elements: usize) {}
}

/// Returns an object as JSON, with its `apiVersion` and `kind` if it is an API object.
pub fn to_json<T: Message>(object: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    encoder::write_json_object(object, T::schema(), T::TYPE, &mut out);
    out
}

/// Returns an object as a protobuf message, without an envelope.
pub fn to_protobuf<T: Message>(object: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    encoder::write_message(object, T::schema(), 0, &mut out);
    out
}

/// Decodes a JSON object, with or without its type.
///
/// # Errors
/// If the JSON is malformed, or a field has another type.
pub fn from_json<T: Message>(json: &[u8]) -> Result<T, Malformed> {
    decode_json(json).map_err(|error| *error)
}

/// Decodes a protobuf message without its envelope.
///
/// # Errors
/// If the message is malformed.
pub fn from_protobuf<T: Message>(message: &[u8]) -> Result<T, Malformed> {
    decode_protobuf(message).map_err(|error| *error)
}

/// Returns a message of the schema by its name, for generated types.
///
/// # Panics
/// If there is none.
pub fn schema_named(name: &str) -> &'static schema::Message {
    schema::builtin().named(name).unwrap_or_else(|| panic!("message {name} not found in the schema"))
}

/// Formats the fields that are not zero.
///
/// # Errors
/// Those of the formatter.
pub fn debug<T: Message>(object: &T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = T::NAME.rsplit('.').next().unwrap_or_default();
    let mut out = f.debug_struct(name);
    for visible in T::schema().visible_fields() {
        if let Some(value) = object.get(visible.slot)
            && !value.is_zero()
        {
            out.field(visible.name, &value);
        }
    }
    out.finish()
}

impl<T: Message> Value for T {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        from.message(form, self)
    }

    fn is_zero(&self) -> bool {
        encoder::is_zero(self)
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        encoder::write_json_object(self, encoder::message_of(form), None, out);
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        encoder::put_message(number, out, |out| {
            encoder::write_message(self, encoder::message_of(form), 0, out);
        });
    }
}
