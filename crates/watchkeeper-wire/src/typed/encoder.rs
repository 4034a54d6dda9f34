//! Writes the fields of generated types, as Go writes them.

use super::{Fields, Value};
use crate::protobuf::{Wire, put_tag, put_varint};
use crate::schema::{self, Form, Message, Shape};
use crate::transcode::{write_entry, write_text};

/// Returns the message of a form.
pub(super) fn message_of(form: Form) -> &'static Message {
    match form {
        Form::Message(id) | Form::SchemaOrBool(id) | Form::SchemaOrArray(id) | Form::SchemaOrStrings(id) => {
            schema::builtin().get(id)
        }
        other => unreachable!("{other:?} is not a message"),
    }
}

/// Returns whether all fields are zero.
pub(super) fn is_zero(object: &dyn Fields) -> bool {
    (0..=u8::MAX).map_while(|slot| object.get(slot)).all(Value::is_zero)
}

/// Writes an object, starting with its type.
pub(super) fn write_json_object(
    object: &dyn Fields,
    schema: &Message,
    kind: Option<(&str, &str)>,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    if let Some((api_version, kind)) = kind {
        write_entry(("kind", kind), out);
        write_entry(("apiVersion", api_version), out);
    }
    write_json_fields(object, schema, 0, schema.always(), out);
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.push(b'}');
}

/// Writes the fields, each with a trailing comma. `always` are the slots that are written even if they are zero.
fn write_json_fields(object: &dyn Fields, schema: &Message, base: u8, always: u64, out: &mut Vec<u8>) {
    for field in schema.fields() {
        let slot = base + field.slot();
        if field.shape() == Shape::Inline {
            write_json_fields(object, message_of(field.form()), slot, always, out);
            continue;
        }
        let Some(value) = object.get(slot) else { continue };
        if always & 1 << slot != 0 || !value.is_zero() {
            write_text(field.name(), out);
            out.push(b':');
            match field.form() {
                // Nil as a field, but not as the value of a map.
                Form::Bytes | Form::Strings if field.shape() == Shape::One && value.is_zero() => {
                    out.extend_from_slice(b"null");
                }
                form => value.write_json(form, out),
            }
            out.push(b',');
        }
    }
}

/// Writes the fields of a message, without a length.
pub(super) fn write_message(object: &dyn Fields, schema: &Message, base: u8, out: &mut Vec<u8>) {
    for field in schema.fields() {
        let slot = base + field.slot();
        if field.shape() == Shape::Inline {
            put_message(field.number(), out, |out| {
                write_message(object, message_of(field.form()), slot, out);
            });
        } else if let Some(value) = object.get(slot) {
            match field.form() {
                // A required time that is not set is an empty message, and a nil list is absent.
                Form::Time | Form::MicroTime if field.shape() == Shape::One && value.is_zero() => {
                    put_message(field.number(), out, |_| {});
                }
                Form::Strings if field.shape() == Shape::One && value.is_zero() => {}
                form => value.write_protobuf(field.number(), form, out),
            }
        }
    }
}

/// Writes a length-prefixed field.
pub(super) fn put_message(number: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    put_tag(out, number, Wire::Bytes);
    let start = out.len();
    write(out);
    let end = out.len();
    put_varint(out, (end - start) as u64);
    out[start..].rotate_left(end - start);
}
