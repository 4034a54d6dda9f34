//! Counts the values of a body before memory is allocated for them.
//!
//! `{}` takes three bytes in a list and at least fifty when decoded, so the size of a body says little about the
//! memory that decoding it takes.

use crate::limits::MESSAGE_DEPTH;
use crate::protobuf::{Cursor, Wire};
use crate::schema::{self, Field, Form, Message, Shape};
use crate::{Malformed, Problem};

/// The number of values allowed for any body: more than fit into an object of 1.5 MiB, etcd's maximum.
const MAX_VALUES: usize = 1 << 20;

/// One more value is allowed per this many bytes. Lists of Kubernetes objects have 15 to 25 bytes per value.
const BYTES_PER_VALUE: usize = 8;

/// Deeper values are not counted: decoders reject them.
const MAX_DEPTH: usize = 256;

/// Checks the number of values in a JSON body, without validating the JSON.
///
/// # Errors
/// [`Problem::TooManyValues`].
pub fn check_json(json: &[u8]) -> Result<(), Malformed> {
    check(json, |limit| Ok(count(json, limit)))
}

/// Checks the number of values in a message.
pub(crate) fn check_protobuf(message: &'static Message, bytes: &[u8]) -> Result<(), Malformed> {
    check(bytes, |limit| {
        let mut values = 0;
        count_fields(message, Cursor::new(bytes), limit, 0, &mut values)?;
        Ok(values)
    })
}

fn check(body: &[u8], count: impl FnOnce(usize) -> Result<usize, Malformed>) -> Result<(), Malformed> {
    let (bytes, limit) = (body.len(), MAX_VALUES + body.len() / BYTES_PER_VALUE);
    // In either encoding a value takes at least two bytes, including separators.
    if bytes / 2 <= limit || count(limit)? <= limit {
        return Ok(());
    }
    Err(Malformed::new(0, Problem::TooManyValues { limit, bytes }))
}

/// Counts the fields of a message, recursively. Stops after `limit`.
fn count_fields(
    message: &'static Message,
    mut cursor: Cursor<'_>,
    limit: usize,
    depth: usize,
    values: &mut usize,
) -> Result<(), Malformed> {
    while *values <= limit
        && let Some(tag) = cursor.tag()?
    {
        *values += 1;
        let form = message.by_number(tag.field).filter(|field| field.shape() != Shape::Map).map(Field::form);
        match form {
            Some(Form::Message(id)) if tag.wire == Wire::Bytes && depth < MESSAGE_DEPTH => {
                count_fields(schema::builtin().get(id), cursor.message()?, limit, depth + 1, values)?;
            }
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok(())
}

/// Counts fields of objects and elements of arrays. Stops after `limit`.
fn count(json: &[u8], limit: usize) -> usize {
    let mut values = 1;
    // The open containers: whether each is an array.
    let mut containers = Vec::new();
    let mut bytes = json.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'[' | b'{' if containers.len() == MAX_DEPTH => return values,
            b'{' => containers.push(false),
            b'[' => {
                containers.push(true);
                while bytes.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
                    bytes.next();
                }
                values += usize::from(bytes.peek().is_some_and(|byte| **byte != b']'));
            }
            b']' | b'}' => drop(containers.pop()),
            b':' => values += 1,
            b',' => values += usize::from(containers.last() == Some(&true)),
            _ => continue,
        }
        if values > limit {
            break;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn count_in_tree(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(count_in_tree).sum(),
            Value::Object(fields) => fields.values().map(count_in_tree).sum(),
            _ => 0,
        }
    }

    #[test]
    fn the_count_is_that_of_a_decoded_tree() {
        for value in [
            json!({}),
            json!([]),
            json!([1]),
            json!([{}, {}, [[]], [1, "a,b:[{", null]]),
            json!({"a": {"b": [1, 2, {"c\\\"": ","}]}, "d": "]}", "": [[], {}]}),
        ] {
            for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
                assert_eq!(count(text.as_bytes(), usize::MAX), count_in_tree(&value), "{text}");
            }
        }
    }

    #[test]
    fn deep_nesting_is_left_to_the_decoder() {
        assert!(check_json("[".repeat(10 << 20).as_bytes()).is_ok());
    }

    #[test]
    fn the_limit_allows_real_objects_of_any_size() {
        let empty = |count: usize| format!("[{}{{}}]", "{},".repeat(count - 1));
        assert_eq!(check_json(empty(MAX_VALUES).as_bytes()), Ok(()));
        let (bytes, limit) = (30_000_001, MAX_VALUES + 30_000_001 / BYTES_PER_VALUE);
        let error = Malformed::new(0, Problem::TooManyValues { limit, bytes });
        assert_eq!(check_json(empty(10_000_000).as_bytes()), Err(error));
        let pods = format!("[{}]", [r#"{"name":"a","image":"nginx"}"#; 500_000].join(","));
        assert_eq!(check_json(pods.as_bytes()), Ok(()));
    }

    #[test]
    fn empty_messages_are_counted_before_they_are_decoded() {
        let pod = crate::Kind::new("", "v1", "Pod");
        let containers = |count: usize| {
            let spec = b"\x12\0".repeat(count);
            let mut body = Vec::new();
            crate::protobuf::put_bytes(&mut body, 2, &spec);
            body
        };
        let decoded = |count| {
            crate::decode_bytes::<serde::de::IgnoredAny>(
                watchkeeper_core::Encoding::Protobuf,
                &containers(count),
                &pod,
            )
        };
        assert!(decoded(MAX_VALUES).is_ok());
        let error = decoded(8_000_000).unwrap_err();
        assert!(
            matches!(&error, crate::DecodeError::Malformed(it) if it.to_string().contains("values in")),
            "{error:?}"
        );
    }
}
