//! Codec: the part of protocol buffers that etcd's messages use.
//!
//! Input: the bytes of a gRPC message, which are not trusted.
//! Output: [`message`](crate::message), field by field.
//!
//! Invariants:
//! - `codec.C1`: decoding never panics, and its memory is proportional to the input.
//! - `codec.C2`: decoded bytes share the buffer of the message.
//! - `codec.C3`: unknown fields are skipped, and known ones with another wire type have their default value.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Why a message cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message ends within a field.
    #[error("message ends within a field")]
    Truncated,
    /// A varint has more than 64 bits.
    #[error("varint exceeds 64 bits")]
    VarintOverflow,
    /// A field number is 0 or too large.
    #[error("invalid field number")]
    InvalidFieldNumber,
    /// A field has an unknown wire type.
    #[error("unknown wire type {0}")]
    WireType(u8),
    /// A string is not UTF-8.
    #[error("string is not UTF-8")]
    InvalidUtf8,
    /// A response within a transaction is empty or of an unknown kind.
    #[error("empty or unknown response within a transaction")]
    UnknownResponse,
    /// A message is compressed, although compression was not negotiated.
    #[error("unexpected compressed message")]
    Compressed,
}

/// A message that can be sent.
pub(crate) trait Encode {
    fn encode(&self, out: &mut Writer);
}

/// A message that can be received.
pub(crate) trait Decode: Sized {
    fn decode(message: Bytes) -> Result<Self, DecodeError>;
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Bytes(Bytes),
    /// A fixed-width value, which no field of etcd's has.
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

    pub(crate) fn text(self) -> Result<String, DecodeError> {
        String::from_utf8(self.bytes().into()).map_err(|_| DecodeError::InvalidUtf8)
    }

    pub(crate) fn message<M: Decode>(self) -> Result<M, DecodeError> {
        M::decode(self.bytes())
    }
}

/// Calls `field` with the number and the value of each field.
pub(crate) fn fields(
    mut message: Bytes,
    mut field: impl FnMut(u64, Value) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    while !message.is_empty() {
        let tag = varint(&mut message)?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return Err(DecodeError::InvalidFieldNumber);
        }
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut message)?),
            1 => take(&mut message, 8).map(|_| Value::Fixed)?,
            2 => {
                let length = varint(&mut message)?;
                Value::Bytes(take(
                    &mut message,
                    usize::try_from(length).map_err(|_| DecodeError::Truncated)?,
                )?)
            }
            5 => take(&mut message, 4).map(|_| Value::Fixed)?,
            other => return Err(DecodeError::WireType((other & 7) as u8)),
        };
        field(number, value)?;
    }
    Ok(())
}

fn take(message: &mut Bytes, length: usize) -> Result<Bytes, DecodeError> {
    if length > message.len() {
        return Err(DecodeError::Truncated);
    }
    Ok(message.split_to(length))
}

fn varint(message: &mut Bytes) -> Result<u64, DecodeError> {
    let mut number = 0u64;
    for (at, &byte) in message.iter().enumerate().take(10) {
        if at == 9 && byte > 1 {
            return Err(DecodeError::VarintOverflow);
        }
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            let _ = message.split_to(at + 1);
            return Ok(number);
        }
    }
    Err(DecodeError::Truncated) // a tenth byte is 0 or 1, and has returned above
}

/// A message being encoded. Default values are omitted, as in proto3.
#[derive(Debug, Default)]
pub(crate) struct Writer(BytesMut);

impl Writer {
    pub(crate) fn int(&mut self, field: u32, number: i64) {
        if number != 0 {
            self.some_int(field, number);
        }
    }

    /// Writes a number even if it is 0, for fields of a `oneof`.
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

    /// Writes bytes even if they are empty, for fields of a `oneof`.
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

    fn read(message: &[u8]) -> Result<Vec<(u64, Value)>, DecodeError> {
        let mut all = Vec::new();
        fields(Bytes::copy_from_slice(message), |number, value| {
            all.push((number, value));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn every_wire_type_is_decoded_or_skipped() {
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
    fn invalid_messages_are_rejected() {
        let table: [(&[u8], DecodeError); 9] = [
            (b"\x08", DecodeError::Truncated),
            (b"\x08\x80", DecodeError::Truncated),
            (b"\x12\x03hi", DecodeError::Truncated),
            (b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", DecodeError::Truncated),
            (b"\x19\x01", DecodeError::Truncated),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", DecodeError::VarintOverflow),
            (b"\x00\x01", DecodeError::InvalidFieldNumber),
            (b"\x0b", DecodeError::WireType(3)),
            (b"\x0f", DecodeError::WireType(7)),
        ];
        for (message, error) in table {
            assert_eq!(read(message), Err(error), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_and_bytes_survive_a_round_trip(number in any::<i64>(), bytes in any::<Vec<u8>>(), field in 1u32..1 << 29) {
            let mut out = Writer::default();
            out.some_int(field, number);
            out.some_bytes(field, &bytes);
            let read = read(&out.0).unwrap();
            prop_assert_eq!(read[0].1.int(), number);
            prop_assert_eq!(read[0].0, u64::from(field));
            prop_assert_eq!(&read[1].1, &Value::Bytes(bytes.into()));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes);
        }
    }
}
