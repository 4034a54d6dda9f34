//! The protobuf wire format: tags, varints and length-prefixed bytes.

use crate::schema::Message;
use crate::{Malformed, Problem};

/// A cursor over the fields of a message.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    /// The bytes that were not read yet.
    rest: &'a [u8],
    /// Offset of the end of `rest` in the caller's input, for errors.
    end: usize,
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
    #[inline]
    pub(crate) fn key(self) -> u64 {
        u64::from(self.field) << 3 | self.wire as u64
    }

    /// Returns the tag with this encoding; `None` if there is none.
    #[inline]
    fn of(key: u64) -> Option<Self> {
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Bytes,
            5 => Wire::Fixed32,
            _ => return None,
        };
        match key >> 3 {
            field @ 1..0x2000_0000 => Some(Self { field: field as u32, wire }),
            _ => None,
        }
    }
}

// Most functions are marked `#[inline]`: codegen units of the release profile are compiled apart.
impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, end: bytes.len() }
    }

    /// Returns the position in the outermost caller's input.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Returns the bytes that have not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[cold]
    pub(crate) fn fail<T>(&self, problem: Problem) -> Result<T, Malformed> {
        Err(Malformed::new(self.offset(), problem))
    }

    /// Reads the next tag; `None` at the end of the message.
    #[inline]
    pub(crate) fn tag(&mut self) -> Result<Option<Tag>, Malformed> {
        if self.is_empty() {
            return Ok(None);
        }
        let start = self.offset();
        match Tag::of(self.varint()?) {
            Some(tag) => Ok(Some(tag)),
            None => Err(Malformed::new(start, Problem::BadTag)),
        }
    }

    /// Reads the next tag if it is equal to `tag`.
    #[inline]
    pub(crate) fn tag_if(&mut self, tag: Tag) -> bool {
        let start = self.rest;
        let found = matches!(self.varint(), Ok(key) if key == tag.key());
        if !found {
            self.rest = start;
        }
        found
    }

    /// Skips a zero, as a number or a length, if it is next.
    #[inline]
    pub(crate) fn take_zero(&mut self) -> bool {
        match self.rest {
            [0, rest @ ..] => {
                self.rest = rest;
                true
            }
            [0x80, ..] => self.long_zero(),
            _ => false,
        }
    }

    /// Skips a non-minimal zero, if it is next.
    #[cold]
    fn long_zero(&mut self) -> bool {
        let start = self.rest;
        let zero = self.varint() == Ok(0);
        if !zero {
            self.rest = start;
        }
        zero
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        match self.rest {
            [byte @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            [low, high @ 0..0x80, rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(low & 0x7f) | u64::from(*high) << 7)
            }
            _ => self.long_varint(),
        }
    }

    /// Fast path: skips fields with a number below 16 and fewer than 128 bytes while `skips` holds for
    /// their numbers.
    #[inline]
    pub(crate) fn skip_short(&mut self, skips: impl Fn(u32) -> bool) {
        while let [tag, length @ 0..0x80, payload @ ..] = self.rest
            && tag & 0x87 == Wire::Bytes as u8
            && *tag > 7
            && let Some(rest) = payload.get(usize::from(*length)..)
            && skips(u32::from(tag >> 3))
        {
            self.rest = rest;
        }
    }

    #[cold]
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for index in 0..10 {
            let Some(&byte) = self.rest.get(index) else { return self.fail(Problem::Truncated) };
            if index == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
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
        match usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length)) {
            Some((payload, rest)) => {
                self.rest = rest;
                Ok(payload)
            }
            None => Err(Malformed::new(start, Problem::LengthPastEnd { length, left: self.rest.len() })),
        }
    }

    /// Reads a length-prefixed field as a message.
    #[inline]
    pub(crate) fn message(&mut self) -> Result<Cursor<'a>, Malformed> {
        let rest = self.bytes()?;
        Ok(Cursor { rest, end: self.offset() })
    }

    /// Reads a length-prefixed field as a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|error| {
            Malformed::new(self.offset() - bytes.len() + error.valid_up_to(), Problem::InvalidUtf8)
        })
    }

    /// Returns the last payload of a field that consists of bytes.
    pub(crate) fn bytes_in(mut self, field: u32) -> Result<Option<&'a [u8]>, Malformed> {
        let mut bytes = None;
        while let Some(tag) = self.tag()? {
            if tag.field == field {
                self.expect(tag, Wire::Bytes)?;
                bytes = Some(self.bytes()?);
            } else {
                self.skip(tag.wire)?;
            }
        }
        Ok(bytes)
    }

    /// Returns the last payload of a field that is a string.
    pub(crate) fn text_in(mut self, field: u32) -> Result<Option<&'a str>, Malformed> {
        let mut text = None;
        while let Some(tag) = self.tag()? {
            if tag.field == field {
                self.expect(tag, Wire::Bytes)?;
                text = Some(self.text()?);
            } else {
                self.skip(tag.wire)?;
            }
        }
        Ok(text)
    }

    /// Counts the payloads of a repeated field, whose first tag was just read. Stops at malformed input.
    pub(crate) fn count_run(&self, tag: Tag) -> usize {
        let (mut ahead, mut count) = (self.clone(), 0);
        while ahead.skip(tag.wire).is_ok() {
            count += 1;
            if !ahead.tag_if(tag) {
                break;
            }
        }
        count
    }

    pub(crate) fn fixed64(&mut self) -> Result<u64, Malformed> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else { return self.fail(Problem::Truncated) };
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// Skips the payload of a field.
    #[inline]
    pub(crate) fn skip(&mut self, wire: Wire) -> Result<(), Malformed> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Bytes => self.bytes().map(drop),
            Wire::Fixed64 => self.fixed64().map(drop),
            Wire::Fixed32 => match self.rest.get(4..) {
                Some(rest) => {
                    self.rest = rest;
                    Ok(())
                }
                None => self.fail(Problem::Truncated),
            },
        }
    }

    /// Skips the fields with a tag that come next.
    #[inline]
    pub(crate) fn skip_all(&mut self, tag: Tag) -> Result<(), Malformed> {
        while self.tag_if(tag) {
            self.skip(tag.wire)?;
        }
        Ok(())
    }

    /// Skips a field that the message does not have; fails if it has one with another wire type.
    #[cold]
    pub(crate) fn skip_unknown(&mut self, message: &Message) -> Result<(), Malformed> {
        let Some(tag) = self.tag()? else { return Ok(()) };
        match message.by_number(tag.field) {
            Some(field) => self.expect(tag, field.tag().wire),
            None => self.skip(tag.wire),
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
