//! Cutting fields out of a JSON object while it is copied.
//!
//! The object is walked once to find what stays, which gives its length, and then copied once into
//! a box of exact size. Only objects on the way to a named field are walked; the rest is skipped.
//!
//! - K1: what stays is valid JSON if what came was: with a member goes one of the commas beside it.

use std::ops::Range;

use super::{Reader, Shape};
use crate::{Limits, Malformed, Node, Paths};

/// Copies the object without the fields that are named.
///
/// A list on the way to a field means each of its elements. An object that loses all of its fields
/// stays, empty. What is not on the way to a named field is only checked for being balanced; that
/// it is JSON will be seen by whoever reads it.
///
/// ```
/// use watchkeeper_wire::{Paths, json};
///
/// let object = br#"{"metadata":{"managedFields":[{"manager":"kubelet"}],"name":"web-0"},"spec":{}}"#;
/// let body = json::cut(object, &Paths::managed_fields())?;
/// assert_eq!(&*body, br#"{"metadata":{"name":"web-0"},"spec":{}}"#);
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
///
/// # Errors
/// Where the bytes are not one JSON object, or nested deeper than [`Limits::DEFAULT`] says.
pub fn cut(object: &[u8], paths: &Paths) -> Result<Box<[u8]>, Malformed> {
    let mut reader = Reader::new(object, Limits::DEFAULT);
    let mut body = Body::default();
    cut_object(&mut reader, paths, &mut body)?;
    reader.end()?;
    Ok(body.copy(object))
}

/// Walks an object and notes what of it is cut out.
fn cut_object(reader: &mut Reader<'_>, paths: &Paths, body: &mut Body) -> Result<(), Malformed> {
    reader.begin_object()?;
    let mut members = Members::new(reader);
    while let Some(key) = reader.next_key_bytes()? {
        match node(paths, &key) {
            Some(Node::Whole) => {
                reader.skip()?;
                members.cut(reader);
            }
            Some(Node::Below(paths)) => {
                members.keep(reader, body);
                cut_value(reader, paths, body)?;
                members.kept(reader);
            }
            None => {
                members.keep(reader, body);
                reader.skip()?;
                members.kept(reader);
            }
        }
    }
    members.end(body);
    Ok(())
}

/// What the set says of the field with this key.
pub(super) fn node<'p>(paths: &'p Paths, key: &[u8]) -> Option<&'p Node> {
    paths.of(key)
}

/// Walks a value on the way to the named fields.
pub(super) fn cut_value(reader: &mut Reader<'_>, paths: &Paths, body: &mut Body) -> Result<(), Malformed> {
    match reader.peek()? {
        Shape::Object => cut_object(reader, paths, body)?,
        Shape::Array => {
            reader.begin_array()?;
            while reader.next_element()? {
                cut_value(reader, paths, body)?;
            }
        }
        _ => reader.skip()?,
    }
    Ok(())
}

/// The pieces of an object that stay, in order.
#[derive(Debug, Default)]
pub(super) struct Body {
    pieces: Vec<Range<usize>>,
    /// Where the next piece starts.
    start: usize,
}

impl Body {
    /// Copies the pieces into a box of their size.
    pub(super) fn copy(mut self, object: &[u8]) -> Box<[u8]> {
        self.pieces.push(self.start..object.len());
        let mut copy = Vec::with_capacity(self.pieces.iter().map(Range::len).sum());
        for piece in self.pieces {
            copy.extend_from_slice(&object[piece]);
        }
        copy.into_boxed_slice()
    }

    fn leave_out(&mut self, cut: Range<usize>) {
        self.pieces.push(self.start..cut.start);
        self.start = cut.end;
    }
}

/// The members of one object, of which some are cut out (K1).
#[derive(Debug)]
pub(super) struct Members {
    /// Behind the last member that stays, or behind the opening brace.
    edge: usize,
    any_stays: bool,
    /// Behind the last member that was cut out and that `edge` is before.
    cut: Option<usize>,
}

impl Members {
    /// The reader has just entered the object.
    pub(super) fn new(reader: &Reader<'_>) -> Self {
        Self { edge: reader.offset(), any_stays: false, cut: None }
    }

    /// The reader has read the key of a member that stays.
    pub(super) fn keep(&mut self, reader: &Reader<'_>, body: &mut Body) {
        if let Some(end) = self.cut.take() {
            // The comma before this member stays if there is a member before it.
            let end = if self.any_stays { end } else { reader.key_offset() };
            body.leave_out(self.edge..end);
        }
    }

    /// The reader has read that member.
    pub(super) fn kept(&mut self, reader: &Reader<'_>) {
        self.any_stays = true;
        self.edge = reader.offset();
    }

    /// The reader has read a member that is cut out.
    pub(super) fn cut(&mut self, reader: &Reader<'_>) {
        self.cut = Some(reader.offset());
    }

    /// The object has ended.
    pub(super) fn end(self, body: &mut Body) {
        if let Some(end) = self.cut {
            body.leave_out(self.edge..end);
        }
    }
}
