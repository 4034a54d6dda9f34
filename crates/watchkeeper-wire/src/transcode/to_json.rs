//! Protobuf to JSON: whatever [`decode`](crate::decode()) shows to serde is written down.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::Types;
use crate::decode::{Fields, RAW_JSON};
use crate::json::Reader;
use crate::{DecodeError, Kind, Limits, Malformed, Problem};

/// Writes the JSON of a message.
pub(super) fn write(message: &[u8], kind: &Kind, types: Types, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let fields = match types {
        Types::Named => Fields::of(message, kind)?,
        Types::Omitted => Fields::untyped(message, kind)?,
    };
    Writer { out }.visit_map(fields)
}

/// Copies a JSON object, with its type put in front if that is asked for.
pub(super) fn splice(body: &[u8], kind: &Kind, types: Types, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let Some(rest) = body.trim_ascii_start().strip_prefix(b"{") else {
        return Err(Malformed::new(0, Problem::Expected("an object")).into());
    };
    out.push(b'{');
    if types == Types::Named {
        // Go writes the fields of a type in the order of the type, and those of a custom resource sorted.
        let mut types = [("kind", kind.kind()), ("apiVersion", kind.api_version())];
        if kind.message().is_none() {
            types.reverse();
        }
        for (name, value) in types {
            write_text(name, out);
            out.push(b':');
            write_text(value, out);
            out.push(b',');
        }
        if rest.trim_ascii_start().starts_with(b"}") {
            out.pop();
        }
    }
    out.extend_from_slice(rest);
    Ok(())
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text can be written to memory");
}

/// Writes one value.
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
        // As Go writes it: no point where there is no fraction, an exponent only far from 1.
        let text = match number.abs() {
            0.0 | 1e-6..1e21 => number.to_string(),
            1e21.. => format!("{number:e}").replace('e', "e+"),
            _ => format!("{number:e}"),
        };
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        write_text(text, self.out);
        Ok(())
    }

    /// Raw JSON goes out as it came in, once it is known to be JSON.
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
        loop {
            let before = self.out.len();
            self.out.push(separator);
            if entries.next_key_seed(Writer { out: self.out })?.is_none() {
                self.out.truncate(before);
                break;
            }
            self.out.push(b':');
            entries.next_value_seed(Writer { out: self.out })?;
            separator = b',';
        }
        self.out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        Ok(())
    }
}
