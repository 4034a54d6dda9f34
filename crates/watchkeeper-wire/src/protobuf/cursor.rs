//! The protobuf wire format: tags, varints and length-prefixed bytes.

use crate::{Malformed, Problem};

/// A cursor over the fields of a message.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Offset of `bytes` in the caller's input, for errors.
    base: usize,
}

/// The wire type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Fixed32 = 5,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) field: u32,
    pub(crate) wire: Wire,
}

impl Tag {
    /// Returns the encoded tag.
    pub(crate) fn key(self) -> u64 {
        u64::from(self.field) << 3 | self.wire as u64
    }
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, base: 0 }
    }

    /// Returns the position in the outermost caller's input.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// Returns the position in its own bytes.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn fail<T>(&self, problem: Problem) -> Result<T, Malformed> {
        Err(Malformed::new(self.offset(), problem))
    }

    /// Reads the next tag; `None` at the end of the message.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, Malformed> {
        if self.is_empty() {
            return Ok(None);
        }
        let start = self.at;
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => Some(Wire::Varint),
            1 => Some(Wire::Fixed64),
            2 => Some(Wire::Bytes),
            5 => Some(Wire::Fixed32),
            _ => None,
        };
        match (key >> 3, wire) {
            (field @ 1..0x2000_0000, Some(wire)) => Ok(Some(Tag { field: field as u32, wire })),
            _ => Err(Malformed::new(self.base + start, Problem::BadTag)),
        }
    }

    /// Reads the next tag if it is equal to `tag`.
    pub(crate) fn tag_if(&mut self, tag: Tag) -> bool {
        let start = self.at;
        match self.tag() {
            Ok(Some(next)) if next == tag => true,
            _ => {
                self.at = start;
                false
            }
        }
    }

    /// Skips a zero, as a number or a length, if it is next.
    #[inline]
    pub(crate) fn take_zero(&mut self) -> bool {
        match self.bytes.get(self.at) {
            Some(0) => {
                self.at += 1;
                true
            }
            Some(0x80) => self.long_zero(),
            _ => false,
        }
    }

    /// Skips a non-minimal zero, if it is next.
    #[cold]
    fn long_zero(&mut self) -> bool {
        let start = self.at;
        let zero = self.varint() == Ok(0);
        if !zero {
            self.at = start;
        }
        zero
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        match self.bytes.get(self.at..) {
            Some([byte @ 0..0x80, ..]) => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            Some([low, high @ 0..0x80, ..]) => {
                self.at += 2;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    /// Fast path: skips fields with a number below 16 and fewer than 128 bytes while `skips` holds for
    /// their numbers.
    #[inline]
    pub(crate) fn skip_short(&mut self, skips: impl Fn(u32) -> bool) {
        while let Some([tag, length @ 0..0x80, payload @ ..]) = self.bytes.get(self.at..)
            && tag & 0x87 == Wire::Bytes as u8
            && *tag > 7
            && payload.len() >= usize::from(*length)
            && skips(u32::from(tag >> 3))
        {
            self.at += 2 + usize::from(*length);
        }
    }

    #[cold]
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for index in 0..10 {
            let Some(&byte) = self.bytes.get(self.at + index) else { return self.fail(Problem::Truncated) };
            if index == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.at += index + 1;
                return Ok(value);
            }
        }
        self.fail(Problem::OverlongVarint)
    }

    /// Reads the payload of a length-prefixed field.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let start = self.offset();
        let length = self.varint()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(length) {
            Ok(length) if length <= left => {
                let payload = &self.bytes[self.at..self.at + length];
                self.at += length;
                Ok(payload)
            }
            _ => Err(Malformed::new(start, Problem::LengthPastEnd { length, left })),
        }
    }

    /// Reads a length-prefixed field as a message.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Cursor<'a>, Malformed> {
        let bytes = self.bytes()?;
        Ok(Cursor { bytes, at: 0, base: self.offset() - bytes.len() })
    }

    /// Reads a length-prefixed field as a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| {
            Malformed::new(self.offset() - bytes.len() + error.valid_up_to(), Problem::InvalidUtf8)
        })
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, Malformed> {
        let Some(bytes) = self.bytes[self.at..].first_chunk() else { return self.fail(Problem::Truncated) };
        self.at += 8;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// Skips the payload of a field.
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<(), Malformed> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Bytes => self.bytes().map(drop),
            Wire::Fixed64 => self.fixed64().map(drop),
            Wire::Fixed32 if self.bytes.len() - self.at >= 4 => {
                self.at += 4;
                Ok(())
            }
            Wire::Fixed32 => self.fail(Problem::Truncated),
        }
    }

    /// Checks the wire type of a field against its schema.
    #[inline]
    pub(crate) fn expect(&self, tag: Tag, wire: Wire) -> Result<(), Malformed> {
        if tag.wire == wire {
            return Ok(());
        }
        self.fail(Problem::WrongWireType { field: tag.field, found: tag.wire as u8 })
    }
}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_tag(out: &mut Vec<u8>, field: u32, wire: Wire) {
    put_varint(out, Tag { field, wire }.key());
}

/// Appends a length-prefixed field.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, payload: &[u8]) {
    put_tag(out, field, Wire::Bytes);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem<T: std::fmt::Debug>(result: Result<T, Malformed>) -> (u64, Problem) {
        let error = result.unwrap_err();
        (error.offset, error.problem)
    }

    #[test]
    fn overlong_varints_are_rejected() {
        let eleven = [0x80; 11];
        assert_eq!(problem(Cursor::new(&eleven).varint()), (0, Problem::OverlongVarint));
        let beyond_64_bits = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(problem(Cursor::new(&beyond_64_bits).varint()), (0, Problem::OverlongVarint));
        assert_eq!(problem(Cursor::new(&[0x80, 0x80]).varint()), (0, Problem::Truncated));
    }

    #[test]
    fn lengths_past_the_end_or_4_gib_are_rejected() {
        let past_end = Problem::LengthPastEnd { length: 5, left: 2 };
        assert_eq!(problem(Cursor::new(&[5, 1, 2]).bytes()), (0, past_end));
        let mut huge = Vec::new();
        put_varint(&mut huge, u64::MAX);
        let past_end = Problem::LengthPastEnd { length: u64::MAX, left: 0 };
        assert_eq!(problem(Cursor::new(&huge).bytes()), (0, past_end));
    }

    #[test]
    fn field_zero_groups_and_numbers_beyond_29_bits_are_rejected() {
        for key in [0, 3, 4, 6, 7, 2, (1 << 32) | 2] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, key);
            assert_eq!(problem(Cursor::new(&bytes).tag()), (0, Problem::BadTag), "key {key}");
        }
    }

    #[test]
    fn invalid_utf8_is_rejected_at_its_position() {
        assert_eq!(problem(Cursor::new(&[3, b'a', 0xff, b'b']).text()), (2, Problem::InvalidUtf8));
    }

    proptest! {
        #[test]
        fn varints_round_trip(value: u64) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut cursor = Cursor::new(&bytes);
            prop_assert_eq!(cursor.varint().unwrap(), value);
            prop_assert!(cursor.is_empty());
        }
    }
}
