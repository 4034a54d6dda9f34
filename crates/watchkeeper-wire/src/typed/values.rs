//! The types of fields.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;
use std::time::SystemTime;

use watchkeeper_core::{Timestamp, TimestampError};

use super::encoder::put_message;
use super::{Decoder, Error, Map, Message, Str, Value};
use crate::json::{Reader, Shape};
use crate::protobuf::{Cursor, Wire, put_bytes, put_tag, put_varint};
use crate::schema::Form;
use crate::transcode::{write_base64, write_double, write_text};
use crate::{Limits, Malformed, Problem, quantity};

impl Value for bool {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        *self = from.boolean()?;
        Ok(())
    }

    fn is_zero(&self) -> bool {
        !self
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_tag(out, number, Wire::Varint);
        put_varint(out, u64::from(*self));
    }
}

macro_rules! integer {
    ($type:ty, $read:ident) => {
        impl Value for $type {
            fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
                *self = from.$read()?;
                Ok(())
            }

            fn is_zero(&self) -> bool {
                *self == 0
            }

            fn write_json(&self, _: Form, out: &mut Vec<u8>) {
                serde_json::to_writer(out, self).expect("writing to memory cannot fail");
            }

            fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
                put_tag(out, number, Wire::Varint);
                put_varint(out, i64::from(*self) as u64);
            }
        }
    };
}

integer!(i32, int32);
integer!(i64, int64);

impl Value for f64 {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        *self = from.double()?;
        Ok(())
    }

    fn is_zero(&self) -> bool {
        *self == 0.0
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        write_double(*self, out);
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_tag(out, number, Wire::Fixed64);
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Value for Str {
    #[inline]
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        *self = from.string()?;
        Ok(())
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_bytes(out, number, self.as_bytes());
    }
}

/// An optional scalar, which may be zero.
macro_rules! optional {
    ($($type:ty),+) => {
        $(impl Value for Option<$type> {
            fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
                self.insert(Default::default()).read(form, from)
            }

            fn is_zero(&self) -> bool {
                self.is_none()
            }

            fn write_json(&self, form: Form, out: &mut Vec<u8>) {
                write_optional(self.as_ref(), form, out);
            }

            fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
                if let Some(value) = self {
                    value.write_protobuf(number, form, out);
                }
            }
        })+
    };
}

optional!(bool, i32, i64, f64, Str, Quantity, IntOrString, RawJson);

/// An optional message.
impl<T: Message> Value for Option<Box<T>> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        from.message(form, &mut **self.get_or_insert_default())
    }

    fn is_zero(&self) -> bool {
        self.is_none()
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        write_optional(self.as_deref(), form, out);
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        if let Some(value) = self {
            value.as_ref().write_protobuf(number, form, out);
        }
    }
}

fn write_optional<T: Value>(value: Option<&T>, form: Form, out: &mut Vec<u8>) {
    match value {
        Some(value) => value.write_json(form, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// A list. As in Go, an empty one is null if JSON has to show it.
impl<T: Value + Default> Value for Vec<T> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        from.elements(self, form)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        if self.is_empty() {
            return out.extend_from_slice(b"null");
        }
        write_list(self, out, |value, out| value.write_json(form, out));
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        for value in self {
            value.write_protobuf(number, form, out);
        }
    }

    fn reserve(&mut self, elements: usize) {
        self.reserve_exact(elements);
    }
}

pub(super) fn write_list<T>(list: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (position, value) in list.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write(value, out);
    }
    out.push(b']');
}

/// A map. As in Go, an empty one is null if JSON has to show it.
impl<V: Value + Default> Value for Map<V> {
    fn read(&mut self, form: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        from.entries(self, form)
    }

    fn is_zero(&self) -> bool {
        self.is_empty()
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        if self.is_empty() {
            return out.extend_from_slice(b"null");
        }
        out.push(b'{');
        for (position, (key, value)) in self.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            write_text(key, out);
            out.push(b':');
            value.write_json(form, out);
        }
        out.push(b'}');
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        for (key, value) in self.iter() {
            put_message(number, out, |out| {
                put_bytes(out, 1, key.as_bytes());
                let before = out.len();
                value.write_protobuf(2, form, out);
                if out.len() == before {
                    put_bytes(out, 2, b""); // empty bytes: absent as a field, but not as the value of an entry
                }
            });
        }
    }

    fn reserve(&mut self, entries: usize) {
        self.reserve_exact(entries);
    }
}

/// A list of strings that is the value of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Strings(pub Vec<Str>);

impl Deref for Strings {
    type Target = Vec<Str>;

    fn deref(&self) -> &Vec<Str> {
        &self.0
    }
}

impl DerefMut for Strings {
    fn deref_mut(&mut self) -> &mut Vec<Str> {
        &mut self.0
    }
}

impl<T: Into<Str>> FromIterator<T> for Strings {
    fn from_iter<I: IntoIterator<Item = T>>(strings: I) -> Self {
        Self(strings.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Str>> From<Vec<T>> for Strings {
    fn from(strings: Vec<T>) -> Self {
        strings.into_iter().collect()
    }
}

impl Value for Strings {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        match from.wrapper()? {
            Some(message) => read_strings(&mut self.0, 1, message, from),
            None => from.elements(&mut self.0, Form::String),
        }
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        write_list(&self.0, out, |text, out| write_text(text, out)); // present, so not null
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| self.0.write_protobuf(1, Form::String, out));
    }
}

/// Reads the strings in a field of a message.
pub(super) fn read_strings(
    into: &mut Vec<Str>,
    number: u32,
    mut message: Cursor<'_>,
    from: &mut Decoder<'_>,
) -> Result<(), Error> {
    while let Some(tag) = message.tag()? {
        if tag.field == number {
            message.expect(tag, Wire::Bytes)?;
            into.push(from.share(message.text()?));
        } else {
            message.skip(tag.wire)?;
        }
    }
    into.shrink_to_fit();
    Ok(())
}

/// Bytes; base64 in JSON.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(pub Vec<u8>);

impl fmt::Debug for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len()) // perhaps of a Secret
    }
}

impl Deref for ByteString {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl<T: Into<Vec<u8>>> From<T> for ByteString {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl Value for ByteString {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        self.0 = from.bytes()?.into_owned();
        Ok(())
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        write_base64(&self.0, out);
    }

    /// As Go, writes no field for nil.
    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        if !self.0.is_empty() {
            put_bytes(out, number, &self.0);
        }
    }
}

/// A time in whole seconds, as `metav1.Time`.
///
/// ```
/// use watchkeeper_wire::typed::Time;
///
/// let time: Time = "2026-11-15T10:00:00+01:00".parse()?;
/// assert_eq!(time.to_string(), "2026-11-15T09:00:00Z");
/// assert!(time < Time::now());
/// # Ok::<(), watchkeeper_core::TimestampError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
}

/// A time in microseconds, as `metav1.MicroTime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime {
    /// Microseconds since 1970-01-01T00:00:00Z.
    pub micros: i64,
}

impl Time {
    /// Returns the current system time.
    pub fn now() -> Self {
        Timestamp::now().into()
    }
}

impl MicroTime {
    /// Returns the current system time.
    pub fn now() -> Self {
        Timestamp::now().into()
    }
}

impl From<Timestamp> for Time {
    fn from(time: Timestamp) -> Self {
        Self { seconds: time.seconds }
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self { seconds: time.seconds, nanos: 0 }
    }
}

/// Times outside of the range of microseconds become its ends.
impl From<Timestamp> for MicroTime {
    fn from(time: Timestamp) -> Self {
        let micros = time.seconds.saturating_mul(1_000_000).saturating_add(i64::from(time.nanos / 1_000));
        Self { micros }
    }
}

impl From<MicroTime> for Timestamp {
    fn from(time: MicroTime) -> Self {
        let nanos = time.micros.rem_euclid(1_000_000) as u32 * 1_000;
        Self { seconds: time.micros.div_euclid(1_000_000), nanos }
    }
}

impl FromStr for MicroTime {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        Timestamp::parse_micro(text).map(Self::from)
    }
}

impl FromStr for Time {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        text.parse::<Timestamp>().map(Self::from)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Timestamp::from(*self).fmt(f)
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Timestamp::from(*self).display_micro().fmt(f)
    }
}

macro_rules! time {
    ($type:ty, $micro:literal) => {
        impl From<SystemTime> for $type {
            fn from(time: SystemTime) -> Self {
                Timestamp::from(time).into()
            }
        }

        /// An optional time. In Go, a time that is not set is the zero time, which JSON shows as null.
        impl Value for Option<$type> {
            fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
                *self = from.time($micro)?.map(Into::into);
                Ok(())
            }

            fn is_zero(&self) -> bool {
                self.is_none()
            }

            fn write_json(&self, _: Form, out: &mut Vec<u8>) {
                match self {
                    Some(time) => write_text(&time.to_string(), out),
                    None => out.extend_from_slice(b"null"),
                }
            }

            fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
                if let Some(time) = self {
                    let time = Timestamp::from(*time);
                    put_message(number, out, |out| {
                        put_tag(out, 1, Wire::Varint);
                        put_varint(out, time.seconds as u64);
                        put_tag(out, 2, Wire::Varint);
                        put_varint(out, u64::from(time.nanos));
                    });
                }
            }
        }
    };
}

time!(Time, false);
time!(MicroTime, true);

/// A quantity such as `500m` or `2Gi`, in the canonical form of Go.
///
/// ```
/// use watchkeeper_wire::typed::Quantity;
///
/// let memory: Quantity = "2048Mi".parse()?;
/// assert_eq!(memory.as_str(), "2Gi");
/// assert_eq!(memory.value(), 2 << 30);
/// assert_eq!("1.5".parse::<Quantity>()?.milli_value(), 1_500);
/// # Ok::<(), watchkeeper_wire::typed::QuantityError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Quantity(Str);

/// An error from parsing a [`Quantity`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid quantity {text:?}: expected a number with a suffix such as m, k, Mi or Gi")]
pub struct QuantityError {
    text: String,
}

impl Quantity {
    /// Returns the canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value, rounded up to an integer; the ends of the range if it is exceeded.
    pub fn value(&self) -> i64 {
        quantity::scaled(&self.0, 0)
    }

    /// Returns the value in thousandths, rounded up; the ends of the range if it is exceeded.
    pub fn milli_value(&self) -> i64 {
        quantity::scaled(&self.0, 3)
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self(Str::inline("0"))
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let canonical = quantity::canonical(text).ok_or_else(|| QuantityError { text: text.to_owned() })?;
        Ok(Self(Str::from(&*canonical)))
    }
}

impl From<i64> for Quantity {
    fn from(value: i64) -> Self {
        let text = value.to_string();
        Self(Str::from(&*quantity::canonical(&text).expect("an integer is a quantity")))
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for Quantity {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        const EXPECTED: &str = "a quantity such as 500m or 2Gi";
        let at = from.offset();
        let raw;
        let text = match from.wrapper()? {
            Some(message) => message.text_in(1)?.unwrap_or("0"),
            None => {
                // With or without quotes; escapes are not decoded.
                raw = String::from_utf8_lossy(from.reader()?.raw()?);
                let text = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&raw);
                text.trim()
            }
        };
        match from.quantity(text) {
            Some(canonical) => self.0 = canonical,
            None => return Err(Malformed::new(at, Problem::bad_value(EXPECTED, text)).into()),
        }
        Ok(())
    }

    /// As in Go, where a quantity is a struct.
    fn is_zero(&self) -> bool {
        self.0 == "0"
    }

    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        write_text(&self.0, out);
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| put_bytes(out, 1, self.0.as_bytes()));
    }
}

/// An integer or a string, such as a port or a percentage.
///
/// ```
/// use watchkeeper_wire::typed::IntOrString;
///
/// assert_eq!(IntOrString::from(80).to_string(), "80");
/// assert_eq!(IntOrString::from("25%"), IntOrString::String("25%".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IntOrString {
    /// An integer.
    Int(i32),
    /// A string.
    String(Str),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl From<i32> for IntOrString {
    fn from(number: i32) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for IntOrString {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for IntOrString {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl fmt::Display for IntOrString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::String(text) => f.write_str(text),
        }
    }
}

impl Value for IntOrString {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        let Some(mut message) = from.wrapper()? else {
            *self = match from.peek()? {
                Shape::String => Self::String(from.string()?),
                _ => Self::Int(from.int32()?),
            };
            return Ok(());
        };
        let (mut kind, mut int, mut text) = (0, 0, "");
        while let Some(tag) = message.tag()? {
            match (tag.field, tag.wire) {
                (1, Wire::Varint) => kind = message.varint()?,
                (2, Wire::Varint) => int = message.varint()? as i32,
                (3, Wire::Bytes) => text = message.text()?,
                (1 | 2, _) => message.expect(tag, Wire::Varint)?,
                (3, _) => message.expect(tag, Wire::Bytes)?,
                _ => message.skip(tag.wire)?,
            }
        }
        *self = match kind {
            0 => Self::Int(int),
            1 => Self::String(from.share(text)),
            other => {
                let expected = "type 0 or 1 of an IntOrString";
                return Ok(message.fail(Problem::BadValue { expected, found: other.to_string() })?);
            }
        };
        Ok(())
    }

    /// As in Go, where it is a struct.
    fn is_zero(&self) -> bool {
        *self == Self::Int(0)
    }

    fn write_json(&self, form: Form, out: &mut Vec<u8>) {
        match self {
            Self::Int(number) => number.write_json(form, out),
            Self::String(text) => write_text(text, out),
        }
    }

    fn write_protobuf(&self, number: u32, form: Form, out: &mut Vec<u8>) {
        let (kind, int, text) = match self {
            Self::Int(int) => (0, *int, ""),
            Self::String(text) => (1, 0, text.as_str()),
        };
        put_message(number, out, |out| {
            put_tag(out, 1, Wire::Varint);
            put_varint(out, kind);
            int.write_protobuf(2, form, out);
            put_bytes(out, 3, text.as_bytes());
        });
    }
}

/// Arbitrary JSON, as it was received; null if it is empty.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct RawJson(Box<[u8]>);

impl RawJson {
    /// Parses JSON.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn parse(json: impl Into<Vec<u8>>) -> Result<Self, Malformed> {
        let json: Vec<u8> = json.into();
        let mut reader = Reader::new(&json, Limits::DEFAULT);
        reader.raw()?;
        reader.end()?;
        Ok(Self(json.into()))
    }

    /// Encodes a value.
    ///
    /// # Errors
    /// If it has no JSON form.
    pub fn new(value: &impl serde::Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(serde_json::to_vec(value)?.into()))
    }

    /// Decodes the JSON.
    ///
    /// # Errors
    /// If it is malformed, or not a `T`.
    pub fn decode<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(if self.0.is_empty() { b"null" } else { &self.0 })
    }

    /// Returns the JSON.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into_bytes().into())
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Value for RawJson {
    fn read(&mut self, _: Form, from: &mut Decoder<'_>) -> Result<(), Error> {
        self.0 = match from.wrapper()? {
            Some(message) => message.bytes_in(1)?.unwrap_or_default().into(),
            None => from.reader()?.raw()?.into(),
        };
        Ok(())
    }

    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes null for bytes that are not JSON, which protobuf can contain.
    fn write_json(&self, _: Form, out: &mut Vec<u8>) {
        let mut reader = Reader::new(&self.0, Limits::DEFAULT);
        match reader.raw().and_then(|json| reader.end().map(|()| json)) {
            Ok(json) => out.extend_from_slice(json),
            Err(_) => out.extend_from_slice(b"null"),
        }
    }

    fn write_protobuf(&self, number: u32, _: Form, out: &mut Vec<u8>) {
        put_message(number, out, |out| {
            if !self.0.is_empty() {
                put_bytes(out, 1, &self.0);
            }
        });
    }
}
