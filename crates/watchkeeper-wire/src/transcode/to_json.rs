//! Protobuf to JSON, by serializing what [`decode`](crate::decode()) yields.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Types;
use crate::decode::{Fields, RAW_JSON};
use crate::json::{Reader, write_text};
use crate::{DecodeError, Kind, Limits, Malformed, Problem};

/// Writes a message as JSON.
pub(super) fn write(message: &[u8], kind: &Kind, types: Types, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let fields = match types {
        Types::Named => Fields::of(message, kind)?,
        Types::Omitted => Fields::untyped(message, kind)?,
    };
    fields.deserialize_any(Writer { out })
}

/// Copies a JSON object and adds its type if requested. Go writes the fields of a built-in type in the order of the
/// type, starting with the kind, and those of a custom resource sorted.
pub(super) fn splice(body: &[u8], kind: &Kind, types: Types, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let Some(rest) = body.trim_ascii_start().strip_prefix(b"{") else {
        return Err(Malformed::new(0, Problem::Expected("an object")).into());
    };
    let mut entries = [("kind", kind.kind()), ("apiVersion", kind.api_version())];
    if types == Types::Named && kind.message().is_none() {
        entries.reverse();
        let start = out.len();
        if splice_sorted(body, entries, out)? {
            return Ok(());
        }
        out.truncate(start);
    }
    out.push(b'{');
    if types == Types::Named {
        entries.into_iter().for_each(|entry| write_entry(entry, out));
        if rest.trim_ascii_start().starts_with(b"}") {
            out.pop();
        }
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Copies an object with sorted fields, inserting `entries` in order. Returns false if one of them would come last.
fn splice_sorted(body: &[u8], entries: [(&str, &str); 2], out: &mut Vec<u8>) -> Result<bool, DecodeError> {
    let mut reader = Reader::new(body, Limits::DEFAULT);
    let (mut entries, mut copied) = (entries.into_iter().peekable(), 0);
    reader.begin_object()?;
    while let Some(key) = reader.next_key_bytes()? {
        while let Some(entry) = entries.next_if(|(name, _)| name.as_bytes() < &*key) {
            out.extend_from_slice(&body[copied..reader.key_offset()]);
            copied = reader.key_offset();
            write_entry(entry, out);
        }
        if entries.peek().is_none() {
            out.extend_from_slice(&body[copied..]);
            return Ok(true);
        }
        reader.skip()?;
    }
    Ok(false)
}

pub(crate) fn write_entry((name, value): (&str, &str), out: &mut Vec<u8>) {
    write_text(name, out);
    out.push(b':');
    write_text(value, out);
    out.push(b',');
}

/// Writes a number as Go does: no decimal point without a fraction, an exponent only far from 1. JSON has no other
/// numbers than finite ones: they become null.
pub(crate) fn write_double(number: f64, out: &mut Vec<u8>) {
    let text = match number.abs() {
        _ if !number.is_finite() => "null".to_owned(),
        0.0 | 1e-6..1e21 => number.to_string(),
        1e21.. => format!("{number:e}").replace('e', "e+"),
        _ => format!("{number:e}"),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Writes bytes as base64.
pub(crate) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    write_text(&STANDARD.encode(bytes), out);
}

/// Writes a value.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_newtype_struct(RAW_JSON, self)
    }
}

impl<'de> Visitor<'de> for Writer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<(), E> {
        self.out.extend_from_slice(if flag { b"true" } else { b"false" });
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        serde_json::to_writer(self.out, &number).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        if !number.is_finite() {
            return Err(E::custom(format_args!("{number} cannot be written as JSON")));
        }
        write_double(number, self.out);
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        write_text(text, self.out);
        Ok(())
    }

    /// Copies raw JSON after validating it.
    fn visit_borrowed_bytes<E: Error>(self, raw: &'de [u8]) -> Result<(), E> {
        let mut reader = Reader::new(raw, Limits::DEFAULT);
        let json = reader.raw().map_err(E::custom)?;
        reader.end().map_err(E::custom)?;
        self.out.extend_from_slice(json);
        Ok(())
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut separator = b'[';
        loop {
            let before = self.out.len();
            self.out.push(separator);
            if elements.next_element_seed(Writer { out: self.out })?.is_none() {
                self.out.truncate(before);
                break;
            }
            separator = b',';
        }
        self.out.extend_from_slice(if separator == b'[' { b"[]" } else { b"]" });
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut separator = b'{';
        while let Some(name) = entries.next_key()? {
            self.out.push(separator);
            write_text(name, self.out);
            self.out.push(b':');
            entries.next_value_seed(Writer { out: self.out })?;
            separator = b',';
        }
        self.out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        Ok(())
    }
}
