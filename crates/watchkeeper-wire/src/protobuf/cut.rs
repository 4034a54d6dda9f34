//! Cutting fields out of a protobuf message while it is copied.
//!
//! A field below another changes the length of what contains it, and the length stands before the
//! content. So the message is walked once to find what is kept, which gives every length, and then
//! copied once into a box of exact size.

use super::{Cursor, Wire, put_varint};
use crate::schema::{Form, Message, Schema, Shape};
use crate::{Malformed, Node, Paths};

/// So many pieces of a plan need no allocation: enough for a few fields.
const FEW: usize = 12;

/// Which fields of a message to cut out, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    fields: Vec<(u32, Part)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// The field is cut out.
    Whole,
    /// Fields of the message in it are.
    Below(Cut),
    /// Entries of the map are, by key.
    Entries(Entries),
}

/// What is cut out of the entries of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entries {
    /// By key: all of an entry, fields of its value, or nothing.
    named: Vec<(Box<str>, Option<Part>)>,
    /// Whether the others are cut out.
    others: bool,
}

impl Entries {
    fn get(&self, key: &str) -> Option<&Part> {
        match self.named.iter().find(|(other, _)| **other == *key) {
            Some((_, part)) => part.as_ref(),
            None => self.others.then_some(&Part::Whole),
        }
    }
}

/// A path that the schema of a kind does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} has no field {name:?} to cut out")]
pub struct UnknownPath {
    /// The message that was asked for the field.
    pub message: &'static str,
    /// The field.
    pub name: String,
}

impl Cut {
    /// `metadata.managedFields`, which has the same numbers in every kind.
    pub fn managed_fields() -> Self {
        let metadata = Cut { fields: vec![(17, Part::Whole)] };
        Self { fields: vec![(1, Part::Below(metadata))] }
    }

    /// The paths as numbers of the given message.
    ///
    /// ```
    /// use watchkeeper_wire::protobuf::Cut;
    /// use watchkeeper_wire::{Paths, schema};
    ///
    /// let schema = schema::builtin();
    /// let pod = schema.message("", "v1", "Pod").expect("a pod is built in");
    /// assert_eq!(Cut::compile(schema, pod, &Paths::managed_fields()), Ok(Cut::managed_fields()));
    /// ```
    ///
    /// # Errors
    /// [`UnknownPath`] where a path leads nowhere, or into a value that has no fields. Raw JSON
    /// inside a message has none here.
    pub fn compile(schema: &Schema, message: &Message, paths: &Paths) -> Result<Self, UnknownPath> {
        let mut cut = Self::default();
        for (name, node) in paths.iter() {
            cut.insert(schema, message, name, node)?;
        }
        if paths.has_others() {
            cut.insert_others(message, schema, paths);
        }
        Ok(cut)
    }

    /// Cuts out the fields that no path names.
    fn insert_others(&mut self, message: &Message, schema: &Schema, paths: &Paths) {
        for field in message.fields() {
            match (field.shape(), field.form()) {
                (Shape::Inline, Form::Message(inner)) => {
                    self.below(field.number()).insert_others(schema.get(inner), schema, paths);
                }
                _ if paths.iter().all(|(name, _)| name != field.name()) => {
                    self.fields.push((field.number(), Part::Whole));
                }
                _ => {}
            }
        }
    }

    fn insert(
        &mut self,
        schema: &Schema,
        message: &Message,
        name: &str,
        node: &Node,
    ) -> Result<(), UnknownPath> {
        if let Some(field) = message.field(name) {
            let part = match (node, field.shape()) {
                (Node::Whole, _) => Part::Whole,
                (Node::Below(paths), _) if paths.is_empty() => return Ok(()),
                (Node::Below(keys), Shape::Map) => {
                    let named = keys.iter().map(|(key, node)| {
                        let part = match node {
                            Node::Below(paths) if paths.is_empty() => None,
                            node => Some(part(schema, field.form(), node)?),
                        };
                        Ok((key.into(), part))
                    });
                    let named = named.collect::<Result<_, _>>()?;
                    Part::Entries(Entries { named, others: keys.has_others() })
                }
                (Node::Below(_), _) => part(schema, field.form(), node)?,
            };
            self.fields.push((field.number(), part));
            return Ok(());
        }
        for field in message.fields().iter().filter(|field| field.shape() == Shape::Inline) {
            if let Form::Message(inner) = field.form()
                && schema.get(inner).visible(name).is_some()
            {
                return self.below(field.number()).insert(schema, schema.get(inner), name, node);
            }
        }
        Err(UnknownPath { message: message.name(), name: name.to_owned() })
    }

    /// What is cut out of an inlined message; nothing yet if it is new.
    fn below(&mut self, number: u32) -> &mut Cut {
        let position = self.fields.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
            self.fields.push((number, Part::Below(Cut::default())));
            self.fields.len() - 1
        });
        match &mut self.fields[position].1 {
            Part::Below(cut) => cut,
            Part::Whole | Part::Entries(_) => {
                unreachable!("an inlined message has no name of its own to be cut by")
            }
        }
    }

    fn get(&self, number: u32) -> Option<&Part> {
        self.fields.iter().find(|(other, _)| *other == number).map(|(_, part)| part)
    }

    /// Copies a message without the fields that are to go.
    ///
    /// # Errors
    /// Where the message, or one on the way to such a field, is malformed.
    pub fn copy(&self, message: &[u8]) -> Result<Box<[u8]>, Malformed> {
        if self.fields.is_empty() {
            return Ok(message.into());
        }
        let mut plan = Plan { few: [Piece::Length(0); FEW], count: 0, more: Vec::new() };
        let length = plan.walk(Cursor::new(message), self)?;
        let mut out = Vec::with_capacity(length);
        for piece in plan.few[..plan.count.min(FEW)].iter().chain(&plan.more) {
            match *piece {
                Piece::Copy { start, end } => out.extend_from_slice(&message[start..end]),
                Piece::Length(length) => put_varint(&mut out, length as u64),
            }
        }
        debug_assert_eq!(out.len(), length);
        Ok(out.into_boxed_slice())
    }
}

/// What to cut out of one value of a form.
fn part(schema: &Schema, form: Form, node: &Node) -> Result<Part, UnknownPath> {
    match (node, form) {
        (Node::Whole, _) => Ok(Part::Whole),
        (Node::Below(paths), Form::Message(inner)) => {
            Ok(Part::Below(Cut::compile(schema, schema.get(inner), paths)?))
        }
        (Node::Below(paths), _) => {
            let name = paths.iter().next().map_or_else(String::new, |(name, _)| name.to_owned());
            Err(UnknownPath { message: "a value without fields", name })
        }
    }
}

/// What the copy is made of, front to back.
#[derive(Debug)]
struct Plan {
    few: [Piece; FEW],
    count: usize,
    /// The pieces after the first few.
    more: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
enum Piece {
    /// Bytes of the original.
    Copy { start: usize, end: usize },
    /// A length that has changed.
    Length(usize),
}

impl Plan {
    /// Plans the copy of one message, and returns the length that it will have.
    fn walk(&mut self, mut cursor: Cursor<'_>, cut: &Cut) -> Result<usize, Malformed> {
        let mut kept = Run::from(cursor.offset());
        let mut length = 0;
        loop {
            cursor.skip_short(|number| cut.get(number).is_none());
            let start = cursor.offset();
            let Some(tag) = cursor.tag()? else { break };
            match cut.get(tag.field) {
                None => cursor.skip(tag.wire)?,
                Some(Part::Whole) => {
                    length += kept.end(start, self);
                    cursor.skip(tag.wire)?;
                    kept = Run::from(cursor.offset());
                }
                Some(Part::Below(below)) => {
                    cursor.expect(tag, Wire::Bytes)?;
                    length += kept.end(cursor.offset(), self);
                    length += self.nested(cursor.message()?, below)?;
                    kept = Run::from(cursor.offset());
                }
                Some(Part::Entries(entries)) => {
                    cursor.expect(tag, Wire::Bytes)?;
                    let behind_tag = cursor.offset();
                    let entry = cursor.message()?;
                    let key = entry_key(entry.clone())?;
                    match entries.get(key) {
                        None => continue,
                        Some(Part::Whole) => length += kept.end(start, self),
                        Some(part) => {
                            length += kept.end(behind_tag, self);
                            let value = Cut { fields: vec![(2, part.clone())] };
                            length += self.nested(entry, &value)?;
                        }
                    }
                    kept = Run::from(cursor.offset());
                }
            }
        }
        length += kept.end(cursor.offset(), self);
        Ok(length)
    }

    /// Plans a message with its length before it.
    fn nested(&mut self, cursor: Cursor<'_>, cut: &Cut) -> Result<usize, Malformed> {
        let prefix = self.count;
        self.push(Piece::Length(0));
        let length = self.walk(cursor, cut)?;
        match self.few.get_mut(prefix) {
            Some(piece) => *piece = Piece::Length(length),
            None => self.more[prefix - FEW] = Piece::Length(length),
        }
        Ok(length + varint_length(length))
    }

    fn push(&mut self, piece: Piece) {
        match self.few.get_mut(self.count) {
            Some(free) => *free = piece,
            None => self.more.push(piece),
        }
        self.count += 1;
    }
}

/// A run of bytes that are kept.
struct Run {
    start: usize,
}

impl Run {
    fn from(start: usize) -> Self {
        Self { start }
    }

    fn end(&self, end: usize, plan: &mut Plan) -> usize {
        if end > self.start {
            plan.push(Piece::Copy { start: self.start, end });
        }
        end - self.start
    }
}

fn entry_key(mut entry: Cursor<'_>) -> Result<&str, Malformed> {
    let mut key = "";
    while let Some(tag) = entry.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => key = entry.text()?,
            _ => entry.skip(tag.wire)?,
        }
    }
    Ok(key)
}

fn varint_length(value: usize) -> usize {
    let bits = usize::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}
