//! JSON to protobuf, byte for byte as Go writes it.
//!
//! Go writes fields sorted by number, required fields even if zero, and maps sorted by key. JSON has
//! any order, so fields are encoded as they are read and then sorted.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use watchkeeper_core::Timestamp;

use crate::json::{Reader, Shape as JsonShape};
use crate::limits::MESSAGE_DEPTH;
use crate::protobuf::{Wire, put_bytes, put_tag, put_varint};
use crate::schema::{self, Field, Form, Message, MessageId, Shape};
use crate::{DecodeError, Kind, Limits, Malformed, Problem, quantity};

/// As Go's decoder, accepts trailing bits.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Maximum length of a value in an error.
const QUOTED: usize = 64;

/// Encodes a JSON object as the message of a kind.
pub(super) fn write(body: &[u8], kind: &Kind) -> Result<Vec<u8>, DecodeError> {
    let message = kind.require_message()?;
    let reader = Reader::new(body, Limits::DEFAULT);
    let mut encoder =
        Encoder { reader, out: Vec::with_capacity(body.len() / 2), spare: Vec::new(), depth: 0 };
    encoder.message(message)?;
    encoder.reader.end()?;
    Ok(encoder.out)
}

/// Decodes base64. As Go, ignores line breaks.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let plain: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    BASE64.decode(plain).ok()
}

struct Encoder<'a> {
    reader: Reader<'a>,
    out: Vec<u8>,
    /// A buffer for sorting.
    spare: Vec<u8>,
    depth: usize,
}

/// The ranges of a message's encoded fields in the output, by slot.
struct Parts {
    ranges: [Range<usize>; 64],
    /// Slots with a key, even if its value is null.
    seen: u64,
    /// Slots that have a value.
    present: u64,
}

impl Encoder<'_> {
    /// Encodes the next object, without a length prefix.
    fn message(&mut self, message: &'static Message) -> Result<(), Malformed> {
        if self.depth == MESSAGE_DEPTH {
            return Err(self.reader.error(Problem::TooDeep { limit: MESSAGE_DEPTH }));
        }
        self.depth += 1;
        let start = self.out.len();
        let mut parts = Parts { ranges: [const { 0..0 }; 64], seen: 0, present: 0 };
        let mut hint = 0;
        self.reader.begin_object()?;
        while let Some(key) = self.reader.next_key()? {
            let Some(visible) = message.visible_from(&mut hint, &key) else {
                self.reader.raw()?;
                continue;
            };
            let slot = usize::from(visible.slot);
            if parts.seen & 1 << slot != 0 {
                return Err(self.reader.error(Problem::DuplicateKey(key.into_owned())));
            }
            parts.seen |= 1 << slot;
            if self.reader.take_null()? {
                continue;
            }
            let from = self.out.len();
            self.field(visible.field(schema::builtin()))?;
            parts.ranges[slot] = from..self.out.len();
            parts.present |= 1 << slot;
        }
        let mut ordered = std::mem::take(&mut self.spare);
        ordered.clear();
        assemble(message, 0, &parts, &self.out, &mut ordered);
        self.out.truncate(start);
        self.out.extend_from_slice(&ordered);
        self.spare = ordered;
        self.depth -= 1;
        Ok(())
    }

    /// Encodes a non-null field with its tag.
    fn field(&mut self, field: &Field) -> Result<(), Malformed> {
        let (number, form) = (field.number(), field.form());
        match field.shape() {
            Shape::One | Shape::Optional | Shape::Inline => self.value(number, form),
            Shape::List => {
                self.reader.begin_array()?;
                while self.reader.next_element()? {
                    if self.reader.take_null()? {
                        put_zero(&mut self.out, number, form);
                    } else {
                        self.value(number, form)?;
                    }
                }
                Ok(())
            }
            Shape::Map => self.map(number, form),
        }
    }

    /// Encodes a map, sorted by key.
    fn map(&mut self, number: u32, form: Form) -> Result<(), Malformed> {
        let start = self.out.len();
        let mut entries: Vec<(Cow<'_, str>, Range<usize>)> = Vec::new();
        self.reader.begin_object()?;
        while let Some(key) = self.reader.next_key()? {
            let from = self.out.len();
            put_tag(&mut self.out, number, Wire::Bytes);
            let entry = self.out.len();
            put_bytes(&mut self.out, 1, key.as_bytes());
            match (self.reader.take_null()?, form) {
                (true, Form::Bytes) => {} // a nil slice is not written as the value of an entry
                (true, _) => put_zero(&mut self.out, 2, form),
                (false, _) => self.value(2, form)?,
            }
            self.put_length_at(entry);
            entries.push((key, from..self.out.len()));
        }
        if entries.is_sorted_by(|a, b| a.0 < b.0) {
            return Ok(());
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(self.reader.error(Problem::DuplicateKey(pair[0].0.to_string())));
        }
        let mut ordered = std::mem::take(&mut self.spare);
        ordered.clear();
        entries.iter().for_each(|(_, range)| ordered.extend_from_slice(&self.out[range.clone()]));
        self.out.truncate(start);
        self.out.extend_from_slice(&ordered);
        self.spare = ordered;
        Ok(())
    }

    /// Encodes a non-null value with its tag.
    fn value(&mut self, number: u32, form: Form) -> Result<(), Malformed> {
        match form {
            Form::Bool => {
                let flag = self.reader.boolean()?;
                self.put_varint(number, u64::from(flag));
            }
            Form::Int32 => {
                let int: i32 = self.integer("a number of 32 bits")?;
                self.put_varint(number, i64::from(int) as u64);
            }
            Form::Int64 => {
                let int: i64 = self.integer("a number of 64 bits")?;
                self.put_varint(number, int as u64);
            }
            Form::Double => {
                let error = self.reader.error(Problem::NumberOutOfRange("a floating-point number"));
                let number_text = self.reader.number()?;
                let double: f64 = number_text.parse().map_err(|_| error.clone())?;
                if !double.is_finite() {
                    return Err(error);
                }
                put_tag(&mut self.out, number, Wire::Fixed64);
                self.out.extend_from_slice(&double.to_le_bytes());
            }
            Form::String => {
                let text = self.reader.string()?;
                put_bytes(&mut self.out, number, text.as_bytes());
            }
            Form::Bytes => {
                let at = self.reader.offset();
                let text = self.reader.string()?;
                let bytes = decode_base64(&text).ok_or_else(|| bad_value(at, "base64", &text))?;
                put_bytes(&mut self.out, number, &bytes);
            }
            _ => {
                put_tag(&mut self.out, number, Wire::Bytes);
                let start = self.out.len();
                self.payload(form)?;
                self.put_length_at(start);
            }
        }
        Ok(())
    }

    /// Encodes the payload of a value, without tag and length.
    fn payload(&mut self, form: Form) -> Result<(), Malformed> {
        let at = self.reader.offset();
        match form {
            Form::Message(id) => self.message(schema::builtin().get(id))?,
            Form::Time => {
                let text = self.reader.string()?;
                let time: Timestamp =
                    text.parse().map_err(|_| bad_value(at, "a time such as 2006-01-02T15:04:05Z", &text))?;
                if time != Timestamp::GO_ZERO {
                    self.put_time(Timestamp { nanos: 0, ..time });
                }
            }
            Form::MicroTime => {
                let text = self.reader.string()?;
                let expected = "a time such as 2006-01-02T15:04:05.000000Z";
                let time = Timestamp::parse_micro(&text).map_err(|_| bad_value(at, expected, &text))?;
                if time != Timestamp::GO_ZERO {
                    self.put_time(time);
                }
            }
            Form::Quantity => {
                // With or without quotes; escapes are not decoded.
                let raw = String::from_utf8_lossy(self.reader.raw()?);
                let text = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&raw);
                let canonical = quantity::canonical(text.trim());
                let canonical =
                    canonical.ok_or_else(|| bad_value(at, "a quantity such as 500m or 2Gi", text))?;
                put_bytes(&mut self.out, 1, canonical.as_bytes());
            }
            Form::IntOrString => {
                let (kind, int, text) = match self.reader.peek()? {
                    JsonShape::String => (1, 0, self.reader.string()?),
                    _ => (0, self.integer::<i32>("a number of 32 bits")?, Cow::Borrowed("")),
                };
                self.put_varint(1, kind);
                self.put_varint(2, i64::from(int) as u64);
                put_bytes(&mut self.out, 3, text.as_bytes());
            }
            Form::RawExtension | Form::FieldsV1 | Form::Json => {
                let raw = self.reader.raw()?;
                put_bytes(&mut self.out, 1, raw);
            }
            Form::Strings => self.strings(1)?,
            Form::SchemaOrBool(id) => {
                let is_schema = self.reader.peek()? == JsonShape::Object;
                let allows = is_schema || self.reader.boolean()?;
                self.put_varint(1, u64::from(allows));
                if is_schema {
                    self.value(2, Form::Message(id))?;
                }
            }
            Form::SchemaOrArray(id) => self.schema_or(id, |encoder| {
                encoder.reader.begin_array()?;
                while encoder.reader.next_element()? {
                    if encoder.reader.take_null()? {
                        put_zero(&mut encoder.out, 2, Form::Message(id));
                    } else {
                        encoder.value(2, Form::Message(id))?;
                    }
                }
                Ok(())
            })?,
            Form::SchemaOrStrings(id) => self.schema_or(id, |encoder| encoder.strings(2))?,
            Form::Bool | Form::Int32 | Form::Int64 | Form::Double | Form::String | Form::Bytes => {
                unreachable!("scalars have no payload")
            }
        }
        Ok(())
    }

    /// Encodes a schema in field 1, or an array. As Go, ignores other values.
    fn schema_or(
        &mut self,
        id: MessageId,
        array: impl FnOnce(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        match self.reader.peek()? {
            JsonShape::Object => self.value(1, Form::Message(id)),
            JsonShape::Array => array(self),
            _ => self.reader.raw().map(drop),
        }
    }

    fn strings(&mut self, number: u32) -> Result<(), Malformed> {
        self.reader.begin_array()?;
        while self.reader.next_element()? {
            let text = if self.reader.take_null()? { Cow::Borrowed("") } else { self.reader.string()? };
            put_bytes(&mut self.out, number, text.as_bytes());
        }
        Ok(())
    }

    fn integer<T: std::str::FromStr>(&mut self, what: &'static str) -> Result<T, Malformed> {
        self.reader.peek()?;
        let at = self.reader.offset();
        let text = self.reader.number()?;
        text.parse().map_err(|_| Malformed::new(at, Problem::NumberOutOfRange(what)))
    }

    fn put_varint(&mut self, number: u32, value: u64) {
        put_tag(&mut self.out, number, Wire::Varint);
        put_varint(&mut self.out, value);
    }

    fn put_time(&mut self, time: Timestamp) {
        self.put_varint(1, time.seconds as u64);
        self.put_varint(2, u64::from(time.nanos));
    }

    /// Inserts the length of everything after `start` at `start`.
    fn put_length_at(&mut self, start: usize) {
        put_length_at(&mut self.out, start);
    }
}

fn put_length_at(out: &mut Vec<u8>, start: usize) {
    let end = out.len();
    put_varint(out, (end - start) as u64);
    out[start..].rotate_left(end - start);
}

/// Sorts the fields of a message, and adds the zeros that Go writes.
fn assemble(message: &Message, base: u8, parts: &Parts, encoded: &[u8], out: &mut Vec<u8>) {
    for field in message.fields() {
        let slot = base + field.slot();
        match (field.shape(), field.form()) {
            (Shape::Inline, Form::Message(id)) => {
                put_tag(out, field.number(), Wire::Bytes);
                let start = out.len();
                assemble(schema::builtin().get(id), slot, parts, encoded, out);
                put_length_at(out, start);
            }
            _ if parts.present & 1 << slot != 0 => {
                out.extend_from_slice(&encoded[parts.ranges[usize::from(slot)].clone()]);
            }
            (Shape::One, Form::Bytes | Form::Strings) => {} // nil slices are not written
            (Shape::One, form) => put_zero(out, field.number(), form),
            _ => {}
        }
    }
}

/// Writes a zero value.
fn put_zero(out: &mut Vec<u8>, number: u32, form: Form) {
    match form {
        Form::Bool | Form::Int32 | Form::Int64 => {
            put_tag(out, number, Wire::Varint);
            out.push(0);
        }
        Form::Double => {
            put_tag(out, number, Wire::Fixed64);
            out.extend_from_slice(&[0; 8]);
        }
        Form::Message(id) => {
            put_tag(out, number, Wire::Bytes);
            let start = out.len();
            let parts = Parts { ranges: [const { 0..0 }; 64], seen: 0, present: 0 };
            assemble(schema::builtin().get(id), 0, &parts, &[], out);
            put_length_at(out, start);
        }
        Form::Quantity => put_bytes(out, number, b"\x0a\x010"),
        Form::IntOrString => put_bytes(out, number, b"\x08\x00\x10\x00\x1a\x00"),
        Form::SchemaOrBool(_) => put_bytes(out, number, b"\x08\x00"),
        _ => put_bytes(out, number, b""),
    }
}

fn bad_value(offset: usize, expected: &'static str, found: &str) -> Malformed {
    let mut found: String = found.chars().take(QUOTED).collect();
    found = format!("{found:?}");
    Malformed::new(offset, Problem::BadValue { expected, found })
}
