//! Prunes fields from a protobuf message while copying it.
//!
//! Removing a nested field changes the length prefixes of its parents. A first pass finds the ranges
//! to keep and thus every length; then they are copied into a box of exactly the right size.

use super::{Cursor, Wire, put_varint};
use crate::schema::{Form, Message, Schema, Shape};
use crate::{Malformed, Node, Paths};

/// Pieces that need no allocation: enough for a few fields.
const FEW: usize = 12;

/// The fields to prune from a message, by number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cut {
    fields: Vec<(u32, Part)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// The whole field.
    Whole,
    /// Fields of its message.
    Below(Cut),
    /// Entries of its map, by key.
    Entries(Entries),
}

/// The entries to prune from a map.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entries {
    /// By key: the part of the entry to prune, if any.
    named: Vec<(Box<str>, Option<Part>)>,
    /// Whether to prune all other entries.
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

/// A path that does not exist in the schema of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field {name:?} not found in {message}")]
pub struct UnknownPath {
    /// The message without the field.
    pub message: &'static str,
    /// The field.
    pub name: String,
}

impl Cut {
    /// Prunes `metadata.managedFields`, which has the same numbers in every kind.
    pub fn managed_fields() -> Self {
        let metadata = Cut { fields: vec![(17, Part::Whole)] };
        Self { fields: vec![(1, Part::Below(metadata))] }
    }

    /// Translates paths into the field numbers of a message.
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
    /// [`UnknownPath`] if a path does not exist, or leads into a value without fields, such as raw
    /// JSON in a message.
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

    /// Adds the fields that are not in any path.
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

    /// Returns the cut of an inlined message, empty if new.
    fn below(&mut self, number: u32) -> &mut Cut {
        let position = self.fields.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
            self.fields.push((number, Part::Below(Cut::default())));
            self.fields.len() - 1
        });
        match &mut self.fields[position].1 {
            Part::Below(cut) => cut,
            Part::Whole | Part::Entries(_) => {
                unreachable!("an inlined message has no name")
            }
        }
    }

    fn get(&self, number: u32) -> Option<&Part> {
        self.fields.iter().find(|(other, _)| *other == number).map(|(_, part)| part)
    }

    /// Copies a message without the pruned fields.
    ///
    /// # Errors
    /// If the message or a parent of a pruned field is malformed.
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

/// Returns the part to prune from a value.
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

/// The pieces of the copy, in order.
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
    /// A changed length prefix.
    Length(usize),
}

impl Plan {
    /// Plans the copy of a message, and returns its new length.
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

    /// Plans a message with its length prefix.
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

/// A range of kept bytes.
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
