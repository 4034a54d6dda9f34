//! Splits a JSON list into items while it arrives.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: the bytes of each item, borrowed from the chunk if it has the whole item.
//!
//! Items are not parsed: each is known to be an object with balanced brackets and quotes, within the
//! limits. [`read_object`](super::read_object) and decoding find all other errors.
//!
//! - `list.L1`: the output does not depend on chunk boundaries.
//! - `list.L2`: memory is bounded by the current chunk, plus one item or field that spans chunks, within
//!   its limit.

use bytes::Bytes;
use watchkeeper_core::{ListMeta, ResourceVersion};

use super::stream::{Stream, ValueLimit, ValueRange};
use super::{Keys, Reader, text};
use crate::{Limits, Malformed, Problem};

/// Splits a list into items, chunk by chunk.
///
/// `items` may come before `metadata`, as for custom resources, or after it, and may be `null` or
/// absent. Other fields are skipped. A body that is not a list, such as a `Status`, has no items; check
/// [`kind`](ListMeta::kind).
///
/// ```
/// use watchkeeper_wire::{Limits, json};
///
/// let body = br#"{"kind":"PodList","items":[{"a":1},{"b":[2]}],"metadata":{"resourceVersion":"42"}}"#;
/// let mut split = json::ListSplitter::new(Limits::DEFAULT);
/// let mut items = Vec::new();
/// for chunk in body.chunks(5) {
///     split.push(bytes::Bytes::copy_from_slice(chunk));
///     while let Some(item) = split.next()? {
///         items.push(item.to_vec());
///     }
/// }
/// assert_eq!(items, [br#"{"a":1}"#.as_slice(), br#"{"b":[2]}"#]);
/// assert_eq!(split.finish()?.resource_version, "42".into());
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
#[derive(Debug)]
pub struct ListSplitter {
    limits: Limits,
    state: State,
    stream: Stream,
    /// Bytes of keys and values apart from the items, limited by [`Limits::envelope_bytes`].
    envelope: usize,
    /// The fields read so far, by [`Field`].
    seen: [bool; 4],
    end: ListMeta,
}

/// The token being read or expected next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    List,
    FirstKeyOrEnd,
    CommaOrEnd,
    NextKey,
    Key,
    Colon(Field),
    BeforeValue(Field),
    Value(Field),
    FirstItemOrEnd,
    CommaOrItemsEnd,
    NextItem,
    Item,
    Nothing,
    Failed(Malformed),
}

/// The fields of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    ApiVersion,
    Kind,
    Metadata,
    Items,
    Other,
}

impl ListSplitter {
    /// Creates a splitter. [`Limits::depth`] counts from each item.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::List,
            stream: Stream::default(),
            envelope: 0,
            seen: [false; 4],
            end: ListMeta::default(),
        }
    }

    /// Adds the next chunk of the body. Drain [`next`](Self::next) first: otherwise the two chunks are
    /// joined by a copy.
    pub fn push(&mut self, chunk: Bytes) {
        self.stream.push(chunk);
    }

    /// Returns the next item, or `None` if another chunk is needed.
    ///
    /// # Errors
    /// If the body is malformed or exceeds a limit. Later calls return the same error.
    #[expect(clippy::should_implement_trait, reason = "lends the item, which an iterator cannot")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Malformed> {
        match self.advance() {
            Ok(Some(item)) => Ok(Some(self.stream.bytes(&item))),
            Ok(None) => {
                self.stream.release();
                Ok(None)
            }
            Err(error) => {
                self.state = State::Failed(error.clone());
                Err(error)
            }
        }
    }

    /// Returns the metadata of the list, after the whole body has been pushed and drained.
    ///
    /// # Errors
    /// [`Problem::Truncated`] if the body is incomplete, or an earlier error.
    pub fn finish(self) -> Result<ListMeta, Malformed> {
        match self.state {
            State::Nothing => Ok(self.end),
            State::Failed(error) => Err(error),
            _ => Err(self.stream.error(Problem::Truncated)),
        }
    }

    /// Reads to the end of the next item, or of the chunk.
    fn advance(&mut self) -> Result<Option<ValueRange>, Malformed> {
        loop {
            match &self.state {
                State::Failed(error) => return Err(error.clone()),
                State::Key => {
                    let Some(key) = self.envelope_value()? else { return Ok(None) };
                    self.state = State::Colon(self.read_key(&key)?);
                }
                State::Value(field) => {
                    let field = *field;
                    let Some(value) = self.envelope_value()? else { return Ok(None) };
                    self.read_field(field, &value)
                        .map_err(|error| error.shifted(self.stream.value_start()))?;
                    self.state = State::CommaOrEnd;
                }
                State::Item => {
                    let Some(item) = self.stream.value(self.item_limit())? else { return Ok(None) };
                    self.state = State::CommaOrItemsEnd;
                    return Ok(Some(item));
                }
                _ => {
                    let Some(token) = self.stream.token() else { return Ok(None) };
                    self.state = self.follow(token)?;
                    if !matches!(self.state, State::Key | State::Value(_) | State::Item) {
                        self.stream.consume(); // the first byte of a value belongs to the value
                    }
                }
            }
        }
    }

    /// Returns the state after a structural byte.
    fn follow(&self, token: u8) -> Result<State, Malformed> {
        use State::*;
        let expected = |what| Err(self.stream.error(Problem::Expected(what)));
        Ok(match (&self.state, token) {
            (List, b'{') => FirstKeyOrEnd,
            (List, _) => return expected("a list"),
            (FirstKeyOrEnd | CommaOrEnd, b'}') => Nothing,
            (CommaOrEnd, b',') => NextKey,
            (CommaOrEnd, _) => return expected("a comma or the end of the list"),
            (FirstKeyOrEnd | NextKey, b'"') => Key,
            (FirstKeyOrEnd | NextKey | Key, _) => return expected("a key"),
            (Colon(field), b':') => BeforeValue(*field),
            (Colon(_), _) => return expected("a colon"),
            (BeforeValue(Field::Items), b'[') => FirstItemOrEnd,
            (BeforeValue(Field::Items), b'n') => Value(Field::Items), // null
            (BeforeValue(Field::Items), _) => return expected("an array"),
            (BeforeValue(field), b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                Value(*field)
            }
            (BeforeValue(_) | Value(_), _) => return expected("a value"),
            (FirstItemOrEnd | CommaOrItemsEnd, b']') => CommaOrEnd,
            (CommaOrItemsEnd, b',') => NextItem,
            (CommaOrItemsEnd, _) => return expected("a comma or the end of the items"),
            (FirstItemOrEnd | NextItem, b'{') => Item,
            (FirstItemOrEnd | NextItem | Item, _) => return expected("an object"),
            (Nothing | Failed(_), _) => return Err(self.stream.error(Problem::TrailingBytes)),
        })
    }

    fn item_limit(&self) -> ValueLimit {
        let Limits { object_bytes, depth, .. } = self.limits;
        ValueLimit { what: "list item", named: object_bytes, bytes: object_bytes, depth, around: 0 }
    }

    /// Reads a key or value other than the items.
    fn envelope_value(&mut self) -> Result<Option<ValueRange>, Malformed> {
        let Limits { envelope_bytes, depth, .. } = self.limits;
        let limit = ValueLimit {
            what: "list without its items",
            named: envelope_bytes,
            bytes: envelope_bytes - self.envelope,
            depth,
            around: 0,
        };
        let value = self.stream.value(limit)?;
        self.envelope += value.as_ref().map_or(0, |range| self.stream.bytes(range).len());
        Ok(value)
    }

    fn read_key(&mut self, key: &ValueRange) -> Result<Field, Malformed> {
        let start = self.stream.value_start();
        let (key, _) = text::read(self.stream.bytes(key), 1).map_err(|error| error.shifted(start))?;
        let field = match &*key {
            "apiVersion" => Field::ApiVersion,
            "kind" => Field::Kind,
            "metadata" => Field::Metadata,
            "items" => Field::Items,
            _ => return Ok(Field::Other),
        };
        if std::mem::replace(&mut self.seen[field as usize], true) {
            return Err(Malformed { offset: start, problem: Problem::DuplicateKey(key.into_owned()) });
        }
        Ok(field)
    }

    fn read_field(&mut self, field: Field, value: &ValueRange) -> Result<(), Malformed> {
        let end = &mut self.end;
        let mut reader = Reader::new(self.stream.bytes(value), self.limits);
        match field {
            Field::Items => reader.null()?,
            Field::Other => reader.skip()?,
            _ if reader.take_null()? => {}
            Field::ApiVersion => end.api_version = reader.string()?.into_owned(),
            Field::Kind => end.kind = reader.string()?.into_owned(),
            Field::Metadata => read_metadata(&mut reader, end)?,
        }
        reader.end()
    }
}

fn read_metadata(reader: &mut Reader<'_>, end: &mut ListMeta) -> Result<(), Malformed> {
    let mut keys = Keys::default();
    reader.begin_object()?;
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        if reader.take_null()? {
            continue;
        }
        match &*key {
            b"resourceVersion" => end.resource_version = ResourceVersion::from(&*reader.string()?),
            b"continue" => {
                end.continue_token = Some(reader.string()?.into_owned()).filter(|token| !token.is_empty());
            }
            b"remainingItemCount" => {
                end.remaining_item_count = u64::try_from(reader.integer("remainingItemCount")?).ok();
            }
            _ => reader.skip()?,
        }
    }
    Ok(())
}
