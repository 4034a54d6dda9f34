//! A pull parser for a complete JSON value.
//!
//! The caller requests the expected token, and gets it or an error with the position:
//!
//! ```text
//! reader.begin_object()?;
//! while let Some(key) = reader.next_key()? {
//!     match &*key {
//!         "name" => name = reader.string()?,
//!      }
//! }
//! reader.end()?;
//! ```
//!
//! - `reader.R1`: what has been read is valid JSON, except for `reader.R2` and `reader.R3`.
//! - `reader.R2`: a [skipped](Reader::skip) value has balanced brackets and complete strings; the rest
//!   of its content is not validated.
//! - `reader.R3`: a key that was read [as bytes](Reader::next_key_bytes) may be invalid UTF-8.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{Scan, ScanResult};
use super::text;
use crate::{Limits, Malformed, Problem};

/// The type of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// A position in the bytes of one JSON value.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Position of the last key.
    key_at: usize,
    depth: usize,
    max_depth: usize,
    /// Whether a container has just been opened, so that no comma precedes its next element. One flag
    /// serves all levels: the parent of an opened container already has an element.
    fresh: bool,
}

impl<'a> Reader<'a> {
    /// Creates a reader. Only the depth limit applies.
    pub(crate) fn new(bytes: &'a [u8], limits: Limits) -> Self {
        Self { bytes, at: 0, key_at: 0, depth: 0, max_depth: limits.depth, fresh: false }
    }

    /// Returns the position of the next token, or of whitespace before it.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Returns the position of the last key.
    pub(crate) fn key_offset(&self) -> usize {
        self.key_at
    }

    /// Returns the type of the next value.
    pub(crate) fn peek(&mut self) -> Result<Shape, Malformed> {
        match self.token()? {
            b'{' => Ok(Shape::Object),
            b'[' => Ok(Shape::Array),
            b'"' => Ok(Shape::String),
            b't' | b'f' => Ok(Shape::Bool),
            b'n' => Ok(Shape::Null),
            b'-' | b'0'..=b'9' => Ok(Shape::Number),
            _ => Err(self.expected("a value")),
        }
    }

    /// Enters an object. Iterate with [`next_key`](Self::next_key), which also leaves it.
    pub(crate) fn begin_object(&mut self) -> Result<(), Malformed> {
        self.begin(b'{', "an object")
    }

    /// Enters an array. Iterate with [`next_element`](Self::next_element), which also leaves it.
    pub(crate) fn begin_array(&mut self) -> Result<(), Malformed> {
        self.begin(b'[', "an array")
    }

    /// Moves to the next value of the object and returns its key; `None` at the end.
    pub(crate) fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Malformed> {
        match self.next_key_bytes()? {
            Some(key) => self.key_text(key).map(Some),
            None => Ok(None),
        }
    }

    /// Validates the UTF-8 of the last key.
    pub(crate) fn key_text(&self, key: Cow<'a, [u8]>) -> Result<Cow<'a, str>, Malformed> {
        text::utf8(key, self.bytes, self.key_at + 1)
    }

    /// As [`next_key`](Self::next_key), without validating UTF-8 (`reader.R3`).
    #[inline(always)] // a plain key then stays in registers
    pub(crate) fn next_key_bytes(&mut self) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
        match self.plain_key() {
            Some(key) => Ok(Some(Cow::Borrowed(key))),
            None => self.any_key(),
        }
    }

    /// Fast path for a key without escapes and surrounding whitespace.
    fn plain_key(&mut self) -> Option<&'a [u8]> {
        let quote = self.at + usize::from(!self.fresh);
        let comes = if self.fresh { b'"' } else { b',' };
        if *self.bytes.get(self.at)? != comes || *self.bytes.get(quote)? != b'"' {
            return None;
        }
        let key = text::plain(self.bytes, quote + 1)?;
        let colon = quote + key.len() + 2;
        if *self.bytes.get(colon)? != b':' {
            return None;
        }
        (self.key_at, self.at, self.fresh) = (quote, colon + 1, false);
        Some(key)
    }

    fn any_key(&mut self) -> Result<Option<Cow<'a, [u8]>>, Malformed> {
        if !self.advance(b'}', "a comma or the end of the object")? {
            return Ok(None);
        }
        if self.token()? != b'"' {
            return Err(self.expected("a key"));
        }
        let (key, end) = text::read_bytes(self.bytes, self.at + 1)?;
        (self.key_at, self.at) = (self.at, end);
        if self.token()? != b':' {
            return Err(self.expected("a colon"));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Moves to the next element of the array; `false` at the end.
    pub(crate) fn next_element(&mut self) -> Result<bool, Malformed> {
        let more = self.advance(b']', "a comma or the end of the array")?;
        if more && self.token()? == b']' {
            return Err(self.expected("a value"));
        }
        Ok(more)
    }

    /// Reads a string. One without escapes is borrowed.
    #[inline(always)] // a plain string then stays in registers
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        match self.plain_string() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.any_string(),
        }
    }

    /// Fast path for a string without escapes and leading whitespace.
    fn plain_string(&mut self) -> Option<&'a str> {
        let start = self.at;
        let text = std::str::from_utf8(self.plain_string_bytes()?).ok();
        if text.is_none() {
            self.at = start;
        }
        text
    }

    /// Reads a string without escapes and leading whitespace, which may be invalid UTF-8; `None` if the next value is
    /// anything else.
    #[inline]
    pub(crate) fn plain_string_bytes(&mut self) -> Option<&'a [u8]> {
        if *self.bytes.get(self.at)? != b'"' {
            return None;
        }
        let text = text::plain(self.bytes, self.at + 1)?;
        self.at += text.len() + 2;
        Some(text)
    }

    fn any_string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        if self.token()? != b'"' {
            return Err(self.expected("a string"));
        }
        let (text, end) = text::read(self.bytes, self.at + 1)?;
        self.at = end;
        Ok(text)
    }

    /// Reads a number, and returns its text.
    pub(crate) fn number(&mut self) -> Result<&'a str, Malformed> {
        if !matches!(self.token()?, b'-' | b'0'..=b'9') {
            return Err(self.expected("a number"));
        }
        let start = self.at;
        self.at = self.number_end().map_err(|place| match self.bytes.get(place) {
            Some(_) => Malformed::new(place, Problem::Expected("a digit")),
            None => Malformed::new(place, Problem::Truncated),
        })?;
        Ok(std::str::from_utf8(&self.bytes[start..self.at]).expect("numbers are ASCII"))
    }

    /// Reads an integer. `field` is its name in errors.
    pub(crate) fn integer(&mut self, field: &'static str) -> Result<i64, Malformed> {
        self.token()?;
        let start = self.at;
        let text = self.number()?;
        text.parse().map_err(|_| {
            let is_integer = !text.contains(['.', 'e', 'E']); // as in Go, 1.0 and 1e0 are not integers
            let problem = if is_integer {
                Problem::NumberOutOfRange(field)
            } else {
                Problem::bad_value("an integer", text)
            };
            Malformed::new(start, problem)
        })
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Result<bool, Malformed> {
        match self.token()? {
            b't' => self.literal("true").map(|()| true),
            b'f' => self.literal("false").map(|()| false),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Reads `null`.
    pub(crate) fn null(&mut self) -> Result<(), Malformed> {
        match self.token()? {
            b'n' => self.literal("null"),
            _ => Err(self.expected("null")),
        }
    }

    /// Reads `null` if it is next, and returns whether it was.
    pub(crate) fn take_null(&mut self) -> Result<bool, Malformed> {
        if self.token()? != b'n' {
            return Ok(false);
        }
        self.literal("null").map(|()| true)
    }

    /// Skips the next value (`reader.R2`).
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        self.span().map(drop)
    }

    /// Skips the next value, and returns its range.
    pub(crate) fn span(&mut self) -> Result<Range<usize>, Malformed> {
        let shape = self.peek()?;
        let start = self.at;
        match shape {
            Shape::Object | Shape::Array => self.at = self.container_end()?,
            Shape::String => self.at = text::skip(self.bytes, start + 1)?,
            Shape::Number => self.number().map(drop)?,
            Shape::Bool => self.boolean().map(drop)?,
            Shape::Null => self.null()?,
        }
        Ok(start..self.at)
    }

    /// Validates the next value (`reader.R1`), and returns its bytes.
    pub(crate) fn raw(&mut self) -> Result<&'a [u8], Malformed> {
        self.peek()?;
        let start = self.at;
        let mut open = Vec::new();
        loop {
            match self.peek()? {
                Shape::Object => {
                    self.begin_object()?;
                    open.push(Shape::Object);
                }
                Shape::Array => {
                    self.begin_array()?;
                    open.push(Shape::Array);
                }
                Shape::String => self.string().map(drop)?,
                Shape::Number => self.number().map(drop)?,
                Shape::Bool => self.boolean().map(drop)?,
                Shape::Null => self.null()?,
            }
            while let Some(container) = open.last() {
                let more = match container {
                    Shape::Object => self.next_key()?.is_some(),
                    _ => self.next_element()?,
                };
                if more {
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                return Ok(&self.bytes[start..self.at]);
            }
        }
    }

    /// Checks that only whitespace is left.
    pub(crate) fn end(&mut self) -> Result<(), Malformed> {
        match self.token() {
            Ok(_) => Err(Malformed::new(self.at, Problem::TrailingBytes)),
            Err(_) => Ok(()),
        }
    }

    /// Creates an error at the next token.
    pub(crate) fn error(&self, problem: Problem) -> Malformed {
        Malformed::new(self.at, problem)
    }

    #[cold]
    fn expected(&self, what: &'static str) -> Malformed {
        self.error(Problem::Expected(what))
    }

    /// Moves to the next token and returns its first byte.
    #[inline(always)]
    fn token(&mut self) -> Result<u8, Malformed> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte > b' ' => Ok(*byte),
            _ => self.token_after_space(),
        }
    }

    #[cold]
    fn token_after_space(&mut self) -> Result<u8, Malformed> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return Ok(*byte),
                None => return Err(self.error(Problem::Truncated)),
            }
        }
    }

    fn begin(&mut self, bracket: u8, what: &'static str) -> Result<(), Malformed> {
        if self.token()? != bracket {
            return Err(self.expected(what));
        }
        if self.depth == self.max_depth {
            return Err(self.error(Problem::TooDeep { limit: self.max_depth }));
        }
        self.at += 1;
        self.depth += 1;
        self.fresh = true;
        Ok(())
    }

    /// Moves to the next element of a container, or past its closing `bracket`.
    #[inline]
    fn advance(&mut self, bracket: u8, expected: &'static str) -> Result<bool, Malformed> {
        let fresh = std::mem::take(&mut self.fresh);
        match self.token()? {
            byte if byte == bracket => {
                self.at += 1;
                self.depth = self.depth.saturating_sub(1);
                return Ok(false);
            }
            _ if fresh => {}
            b',' => self.at += 1,
            _ => return Err(self.expected(expected)),
        }
        Ok(true)
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Malformed> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        if word.as_bytes().starts_with(rest) {
            return Err(Malformed::new(self.bytes.len(), Problem::Truncated));
        }
        Err(self.expected(word))
    }

    /// Returns the end of the number at the current position, or the position of a missing digit.
    fn number_end(&self) -> Result<usize, usize> {
        let byte = |at: usize| self.bytes.get(at);
        let digits = |from: usize| {
            let more = self.bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if more > 0 { Ok(from + more) } else { Err(from) }
        };
        let mut at = self.at + usize::from(byte(self.at) == Some(&b'-'));
        at = if byte(at) == Some(&b'0') { at + 1 } else { digits(at)? };
        if byte(at) == Some(&b'.') {
            at = digits(at + 1)?;
        }
        if matches!(byte(at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(byte(at + 1), Some(b'+' | b'-')));
            at = digits(at + 1 + sign)?;
        }
        Ok(at)
    }

    /// Returns the end of the container at the current position.
    fn container_end(&self) -> Result<usize, Malformed> {
        let mut scan = Scan::new(self.max_depth - self.depth);
        match scan.feed(&self.bytes[self.at..]) {
            ScanResult::End(length) => Ok(self.at + length),
            ScanResult::More => Err(Malformed::new(self.bytes.len(), Problem::Truncated)),
            ScanResult::TooDeep(place) => {
                Err(Malformed::new(self.at + place, Problem::TooDeep { limit: self.max_depth }))
            }
        }
    }
}

#[cfg(test)]
mod tests;
