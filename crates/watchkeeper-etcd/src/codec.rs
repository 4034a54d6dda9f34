//! Codec: protocol buffers, as far as etcd's messages need them.
//!
//! From: the bytes of a gRPC message, which may be anything.
//! To:   [`message`](crate::message), field by field.
//!
//! - C1: reading never panics, and the memory that it takes is in proportion to the bytes that were given.
//! - C2: bytes are shared with the message that they came in, not copied.
//! - C3: fields that nobody knows are passed over; those of a known number and another wire type too.

use bytes::{BufMut as _, Bytes, BytesMut};

/// What a server sent is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// It ends within a field.
    #[error("a message ends within a field")]
    Truncated,
    /// A number has more than 64 bits.
    #[error("a number has more than 64 bits")]
    LongNumber,
    /// A field has the number 0, or one beyond those that there are.
    #[error("a field has no number")]
    NoField,
    /// A field is of a wire type that there is not.
    #[error("a field is of the unknown wire type {0}")]
    WireType(u8),
    /// A text is not UTF-8.
    #[error("a text is not UTF-8")]
    NoText,
    /// A message of a transaction's answer has no content.
    #[error("an answer within a transaction is empty or of an unknown kind")]
    NoOperation,
    /// A message is compressed, which it was not asked to be.
    #[error("a message is compressed")]
    Compressed,
}

/// A message that can be sent.
pub(crate) trait Encode {
    fn encode(&self, out: &mut Writer);
}

/// A message that can be received.
pub(crate) trait Decode: Sized {
    fn decode(message: Bytes) -> Result<Self, Malformed>;
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Bytes(Bytes),
    /// Of a width that no field of etcd's has.
    Fixed,
}

impl Value {
    pub(crate) fn int(&self) -> i64 {
        match self {
            Self::Number(number) => number.cast_signed(),
            _ => 0,
        }
    }

    pub(crate) fn bool(&self) -> bool {
        matches!(self, Self::Number(1..))
    }

    pub(crate) fn bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => Bytes::new(),
        }
    }

    pub(crate) fn text(self) -> Result<String, Malformed> {
        String::from_utf8(self.bytes().into()).map_err(|_| Malformed::NoText)
    }

    pub(crate) fn message<M: Decode>(self) -> Result<M, Malformed> {
        M::decode(self.bytes())
    }
}

/// Calls `field` with the number and the value of each field.
pub(crate) fn fields(
    mut message: Bytes,
    mut field: impl FnMut(u64, Value) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return Err(Malformed::NoField);
        }
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut message)?),
            1 => take(&mut message, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = varint(&mut message)?;
                Value::Bytes(take(&mut message, usize::try_from(length).map_err(|_| Malformed::Truncated)?)?)
            }
            5 => take(&mut message, 4).map(|_| Value::Fixed)?,
            other => return Err(Malformed::WireType((other & 7) as u8)),
        };
        field(number, value)?;
    }
    Ok(())
}

fn take(message: &mut Bytes, length: usize) -> Result<Bytes, Malformed> {
    if length > message.len() {
        return Err(Malformed::Truncated);
    }
    Ok(message.split_to(length))
}

fn varint(message: &mut Bytes) -> Result<u64, Malformed> {
    let mut number = 0u64;
    for (at, &byte) in message.iter().enumerate().take(10) {
        if at == 9 && byte > 1 {
            return Err(Malformed::LongNumber);
        }
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            let _ = message.split_to(at + 1);
            return Ok(number);
        }
    }
    Err(Malformed::Truncated) // of ten bytes the last is 0 or 1, and returned above
}

/// A message while it is written. What is empty, zero or false is left out, as protocol buffers ask.
#[derive(Debug, Default)]
pub(crate) struct Writer(BytesMut);

impl Writer {
    pub(crate) fn int(&mut self, field: u32, number: i64) {
        if number != 0 {
            self.some_int(field, number);
        }
    }

    /// Writes a number even if it is 0: for choices, where being there says which one.
    pub(crate) fn some_int(&mut self, field: u32, number: i64) {
        self.varint(u64::from(field) << 3);
        self.varint(number.cast_unsigned());
    }

    pub(crate) fn bool(&mut self, field: u32, yes: bool) {
        self.int(field, i64::from(yes));
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.some_bytes(field, bytes);
        }
    }

    /// Writes bytes even if there are none: for choices.
    pub(crate) fn some_bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.put_slice(bytes);
    }

    pub(crate) fn message(&mut self, field: u32, message: &impl Encode) {
        self.some_bytes(field, &encode(message));
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.put_u8((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.put_u8(number as u8);
    }
}

pub(crate) fn encode(message: &impl Encode) -> Bytes {
    let mut out = Writer::default();
    message.encode(&mut out);
    out.0.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(message: &[u8]) -> Result<Vec<(u64, Value)>, Malformed> {
        let mut all = Vec::new();
        fields(Bytes::copy_from_slice(message), |number, value| {
            all.push((number, value));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn every_wire_type_is_read_or_passed_over() {
        let message = b"\x08\x96\x01\x12\x02hi\x19\x01\x02\x03\x04\x05\x06\x07\x08\x25\x01\x02\x03\x04";
        let expected = [
            (1, Value::Number(150)),
            (2, Value::Bytes(Bytes::from_static(b"hi"))),
            (3, Value::Fixed),
            (4, Value::Fixed),
        ];
        assert_eq!(read(message).unwrap(), expected);
    }

    #[test]
    fn what_is_no_message_is_refused_by_name() {
        let table: [(&[u8], Malformed); 9] = [
            (b"\x08", Malformed::Truncated),
            (b"\x08\x80", Malformed::Truncated),
            (b"\x12\x03hi", Malformed::Truncated),
            (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Malformed::Truncated),
            (b"\x19\x01", Malformed::Truncated),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", Malformed::LongNumber),
            (b"\x00\x01", Malformed::NoField),
            (b"\x0b", Malformed::WireType(3)),
            (b"\x0f", Malformed::WireType(7)),
        ];
        for (message, error) in table {
            assert_eq!(read(message), Err(error), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_and_bytes_come_back(number in any::<i64>(), bytes in any::<Vec<u8>>(), field in 1u32..1 << 29) {
            let mut out = Writer::default();
            out.some_int(field, number);
            out.some_bytes(field, &bytes);
            let read = read(&out.0).unwrap();
            prop_assert_eq!(read[0].1.int(), number);
            prop_assert_eq!(read[0].0, u64::from(field));
            prop_assert_eq!(&read[1].1, &Value::Bytes(bytes.into()));
        }

        #[test]
        fn nothing_makes_it_panic(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes);
        }
    }
}
