//! Reads the fields of generated types.

use std::borrow::Cow;

use watchkeeper_core::Timestamp;

use super::cache::Cache;
use super::{Error, Fields, Map, Message, Str, Value};
use crate::json::{self, Reader};
use crate::limits::MESSAGE_DEPTH;
use crate::protobuf::{Cursor, Wire, read_time};
use crate::schema::{self, Form, Shape};
use crate::transcode::decode_base64;
use crate::{Limits, Malformed, Problem};

/// The input of a decoder.
#[derive(Debug)]
pub struct Decoder<'a> {
    input: Input<'a>,
    depth: usize,
    cache: Box<Cache>,
}

#[derive(Debug)]
enum Input<'a> {
    Json(Reader<'a>),
    Protobuf(Cursor<'a>),
}

/// Decodes a JSON object, with or without its type.
pub(crate) fn decode_json<T: Message>(json: &[u8]) -> Result<T, Error> {
    let mut object = T::default();
    let mut from = Decoder::new(Input::Json(Reader::new(json, Limits::DEFAULT)));
    let decoded = from.fields(&mut object, T::schema()).and_then(|()| from.end());
    from.cache.put_back();
    decoded.map(|()| object)
}

/// Decodes a protobuf message without its envelope.
pub(crate) fn decode_protobuf<T: Message>(message: &[u8]) -> Result<T, Error> {
    let mut object = T::default();
    let mut from = Decoder::new(Input::Protobuf(Cursor::new(message)));
    let decoded = from.fields(&mut object, T::schema());
    from.cache.put_back();
    decoded.map(|()| object)
}

impl<'a> Decoder<'a> {
    fn new(input: Input<'a>) -> Self {
        Self { input, depth: 0, cache: Cache::take() }
    }

    fn end(&mut self) -> Result<(), Error> {
        match &mut self.input {
            Input::Json(reader) => Ok(reader.end()?),
            Input::Protobuf(_) => Ok(()),
        }
    }

    /// Reads a nested message.
    pub(super) fn message(&mut self, form: Form, into: &mut dyn Fields) -> Result<(), Error> {
        let (Form::Message(id)
        | Form::SchemaOrBool(id)
        | Form::SchemaOrArray(id)
        | Form::SchemaOrStrings(id)) = form
        else {
            return Err(self.error(Problem::Expected("another type")));
        };
        let schema = schema::builtin().get(id);
        match &mut self.input {
            Input::Json(_) => self.fields(into, schema),
            Input::Protobuf(cursor) => {
                let inner = cursor.message()?;
                self.within(inner, |from| from.fields(into, schema))
            }
        }
    }

    /// Reads the rest of a message from its own cursor.
    pub(super) fn within<T>(
        &mut self,
        inner: Cursor<'a>,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let outer = std::mem::replace(&mut self.input, Input::Protobuf(inner));
        let outcome = read(self);
        self.input = outer;
        outcome
    }

    fn fields(&mut self, into: &mut dyn Fields, schema: &'static schema::Message) -> Result<(), Error> {
        if self.depth == MESSAGE_DEPTH {
            return Err(self.error(Problem::TooDeep { limit: MESSAGE_DEPTH }));
        }
        self.depth += 1;
        let outcome = match &self.input {
            Input::Json(_) => self.json_fields(into, schema),
            Input::Protobuf(_) => self.protobuf_fields(into, schema, 0),
        };
        self.depth -= 1;
        outcome
    }

    fn protobuf_fields(
        &mut self,
        into: &mut dyn Fields,
        schema: &'static schema::Message,
        base: u8,
    ) -> Result<(), Error> {
        loop {
            let Input::Protobuf(cursor) = &mut self.input else { unreachable!("the input does not change") };
            if cursor.is_empty() {
                return Ok(());
            }
            let start = cursor.clone();
            let key = cursor.varint()?;
            let Some(field) = schema.by_number((key >> 3) as u32).filter(|field| field.key() == key) else {
                *cursor = start;
                cursor.skip_unknown(schema)?;
                continue;
            };
            let slot = base + field.slot();
            if field.shape() == Shape::Inline {
                let Form::Message(id) = field.form() else { unreachable!("checked when the table is read") };
                let inner = cursor.message()?;
                self.within(inner, |from| from.protobuf_fields(into, schema::builtin().get(id), slot))?;
                continue;
            }
            let Some(value) = into.get_mut(slot) else {
                cursor.skip(field.tag().wire)?;
                continue;
            };
            match field.shape() {
                Shape::List | Shape::Map => self.run(value, field)?,
                _ => value.read(field.form(), self)?,
            }
        }
    }

    /// Reads the elements of a list or map.
    fn run(&mut self, value: &mut dyn Value, field: &schema::Field) -> Result<(), Error> {
        let tag = field.tag();
        let Input::Protobuf(cursor) = &self.input else { unreachable!("the caller reads protobuf") };
        value.reserve(cursor.count_run(tag));
        loop {
            value.read(field.form(), self)?;
            let Input::Protobuf(cursor) = &mut self.input else { unreachable!("the input does not change") };
            if !cursor.tag_if(tag) {
                return Ok(());
            }
        }
    }

    fn json_fields(&mut self, into: &mut dyn Fields, schema: &'static schema::Message) -> Result<(), Error> {
        let (mut seen, mut hint) = (0u64, 0);
        self.reader()?.begin_object()?;
        loop {
            let Input::Json(reader) = &mut self.input else { unreachable!("the input does not change") };
            let Some(key) = reader.next_key_bytes()? else { return Ok(()) };
            let Some(visible) = schema.visible_after(&mut hint, &key) else {
                reader.key_text(key)?;
                reader.raw()?;
                continue;
            };
            if seen & 1 << visible.slot != 0 {
                return Err(reader.error(Problem::DuplicateKey(visible.name.to_owned())).into());
            }
            seen |= 1 << visible.slot;
            if reader.take_null()? {
                continue;
            }
            match into.get_mut(visible.slot) {
                Some(value) => value.read(visible.field(schema::builtin()).form(), self)?,
                None => drop(reader.raw()?),
            }
        }
    }

    /// Reads an element of a list in protobuf, or all elements in JSON.
    pub(super) fn elements<T: Value + Default>(
        &mut self,
        into: &mut Vec<T>,
        form: Form,
    ) -> Result<(), Error> {
        if let Input::Protobuf(_) = self.input {
            into.push(T::default());
            return into.last_mut().expect("just pushed").read(form, self);
        }
        self.reader()?.begin_array()?;
        while self.reader()?.next_element()? {
            into.push(T::default());
            if !self.reader()?.take_null()? {
                into.last_mut().expect("just pushed").read(form, self)?;
            }
        }
        into.shrink_to_fit(); // typed.M4
        Ok(())
    }

    /// Reads an entry of a map in protobuf, or all entries in JSON.
    pub(super) fn entries<V: Value + Default>(&mut self, into: &mut Map<V>, form: Form) -> Result<(), Error> {
        if let Input::Protobuf(cursor) = &mut self.input {
            let entry = cursor.message()?;
            return self.within(entry, |from| from.entry(into, form));
        }
        self.reader()?.begin_object()?;
        while let Some(key) = self.reader()?.next_key()? {
            let key = self.cache.share(&key);
            let mut value = V::default();
            if !self.reader()?.take_null()? {
                value.read(form, self)?;
            }
            if let Err(key) = into.insert_new(key, value) {
                return Err(self.error(Problem::DuplicateKey(key.into())));
            }
        }
        into.shrink_to_fit(); // typed.M4
        Ok(())
    }

    /// Reads an entry of a map: the key in field 1, the value in field 2, each zero if absent.
    fn entry<V: Value + Default>(&mut self, into: &mut Map<V>, form: Form) -> Result<(), Error> {
        let (mut key, mut value) = (Str::new(), V::default());
        loop {
            let Input::Protobuf(cursor) = &mut self.input else { unreachable!("the caller reads protobuf") };
            let Some(tag) = cursor.tag()? else { break };
            match tag.field {
                1 => {
                    cursor.expect(tag, Wire::Bytes)?;
                    key = self.string()?;
                }
                2 => {
                    cursor.expect(tag, form.wire())?;
                    value.read(form, self)?;
                }
                _ => cursor.skip(tag.wire)?,
            }
        }
        into.insert(key, value);
        Ok(())
    }

    /// Calls `read` at each payload of a message field, and skips the other fields.
    pub(super) fn each(
        &mut self,
        number: u32,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            let Input::Protobuf(cursor) = &mut self.input else { unreachable!("the caller reads protobuf") };
            let Some(tag) = cursor.tag()? else { return Ok(()) };
            if tag.field == number {
                cursor.expect(tag, Wire::Bytes)?;
                read(self)?;
            } else {
                cursor.skip(tag.wire)?;
            }
        }
    }

    /// Returns the cursor of a message that wraps a value; `None` if the input is JSON.
    pub(super) fn wrapper(&mut self) -> Result<Option<Cursor<'a>>, Error> {
        match &mut self.input {
            Input::Json(_) => Ok(None),
            Input::Protobuf(cursor) => Ok(Some(cursor.message()?)),
        }
    }

    /// Returns the reader of JSON.
    pub(super) fn reader(&mut self) -> Result<&mut Reader<'a>, Error> {
        match &mut self.input {
            Input::Json(reader) => Ok(reader),
            Input::Protobuf(cursor) => Ok(cursor.fail(Problem::Expected("JSON"))?),
        }
    }

    /// Returns the position in the input.
    pub(super) fn offset(&self) -> usize {
        match &self.input {
            Input::Json(reader) => reader.offset(),
            Input::Protobuf(cursor) => cursor.offset(),
        }
    }

    /// Returns the type of the next JSON value.
    pub(super) fn peek(&mut self) -> Result<json::Shape, Error> {
        Ok(self.reader()?.peek()?)
    }

    #[cold]
    pub(super) fn error(&self, problem: Problem) -> Error {
        Malformed::new(self.offset(), problem).into()
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Error> {
        match &mut self.input {
            Input::Json(reader) => Ok(reader.boolean()?),
            Input::Protobuf(cursor) => Ok(cursor.varint()? != 0),
        }
    }

    pub(super) fn int32(&mut self) -> Result<i32, Error> {
        match &mut self.input {
            Input::Json(reader) => {
                let number = reader.integer("a number of 32 bits")?;
                let out_of_range = |_| reader.error(Problem::NumberOutOfRange("a number of 32 bits"));
                Ok(i32::try_from(number).map_err(out_of_range)?)
            }
            Input::Protobuf(cursor) => Ok(cursor.varint()? as i32),
        }
    }

    pub(super) fn int64(&mut self) -> Result<i64, Error> {
        match &mut self.input {
            Input::Json(reader) => Ok(reader.integer("a number of 64 bits")?),
            Input::Protobuf(cursor) => Ok(cursor.varint()? as i64),
        }
    }

    pub(super) fn double(&mut self) -> Result<f64, Error> {
        match &mut self.input {
            Input::Json(reader) => {
                let error = reader.error(Problem::NumberOutOfRange("a floating-point number"));
                let number: f64 = reader.number()?.parse().map_err(|_| error.clone())?;
                if number.is_finite() { Ok(number) } else { Err(error.into()) }
            }
            Input::Protobuf(cursor) => Ok(f64::from_bits(cursor.fixed64()?)),
        }
    }

    #[inline]
    pub(super) fn string(&mut self) -> Result<Str, Error> {
        match &mut self.input {
            Input::Json(reader) => match reader.plain_string_bytes() {
                Some(bytes) => match self.cache.share_bytes(bytes) {
                    Some(text) => Ok(text),
                    None => Err(self.error(Problem::InvalidUtf8)),
                },
                None => Ok(self.cache.share(&reader.string()?)),
            },
            Input::Protobuf(cursor) => {
                let bytes = cursor.bytes()?;
                match self.cache.share_bytes(bytes) {
                    Some(text) => Ok(text),
                    None => Err(self.invalid_utf8(bytes)),
                }
            }
        }
    }

    /// Returns the error of a string that was just read.
    #[cold]
    fn invalid_utf8(&self, bytes: &[u8]) -> Error {
        let valid = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
        let Input::Protobuf(cursor) = &self.input else { unreachable!("the caller reads protobuf") };
        Malformed::new(cursor.offset() - bytes.len() + valid, Problem::InvalidUtf8).into()
    }

    /// Returns the canonical form of a quantity; `None` if it is not a quantity.
    pub(super) fn quantity(&mut self, text: &str) -> Option<Str> {
        self.cache.quantity(text)
    }

    /// Shares a string that was read otherwise.
    pub(super) fn share(&mut self, text: &str) -> Str {
        self.cache.share(text)
    }

    pub(super) fn bytes(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        match &mut self.input {
            Input::Json(reader) => {
                let at = reader.offset();
                let text = reader.string()?;
                let bytes = decode_base64(&text);
                bytes
                    .map(Cow::Owned)
                    .ok_or_else(|| Malformed::new(at, Problem::bad_value("base64", &text)).into())
            }
            Input::Protobuf(cursor) => Ok(Cow::Borrowed(cursor.bytes()?)),
        }
    }

    /// Reads a time in the form of `Time`, or of `MicroTime` with `micro`.
    pub(super) fn time(&mut self, micro: bool) -> Result<Option<Timestamp>, Error> {
        let reader = match &mut self.input {
            Input::Json(reader) => reader,
            Input::Protobuf(cursor) => return Ok(read_time(cursor.message()?)?),
        };
        let at = reader.offset();
        let text = reader.string()?;
        let (parsed, expected) = match micro {
            false => (text.parse(), "a time such as 2006-01-02T15:04:05Z"),
            true => (Timestamp::parse_micro(&text), "a time such as 2006-01-02T15:04:05.000000Z"),
        };
        let time = parsed.map_err(|_| Malformed::new(at, Problem::bad_value(expected, &text)))?;
        Ok((time != Timestamp::GO_ZERO).then_some(time))
    }
}
