//! Prunes fields from a JSON object while copying it.
//!
//! A first pass finds the ranges to keep and thus the length; then they are copied into a box of
//! exactly that size. Only the parents of pruned fields are parsed; the rest is skipped.
//!
//! - `cut.K1`: pruning valid JSON yields valid JSON: each removed member takes one comma with it.

use std::ops::Range;

use super::{Reader, Shape};
use crate::{Limits, Malformed, Node, Paths};

/// Copies the object without the fields in `paths`.
///
/// A path through a list applies to each element. An object that loses all fields becomes empty.
/// Outside of the paths, the JSON is only checked for balanced brackets.
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
/// If the input is not a JSON object, or exceeds the depth of [`Limits::DEFAULT`].
pub fn cut(object: &[u8], paths: &Paths) -> Result<Box<[u8]>, Malformed> {
    let mut reader = Reader::new(object, Limits::DEFAULT);
    let mut body = Body::default();
    cut_object(&mut reader, paths, &mut body)?;
    reader.end()?;
    Ok(body.copy(object))
}

/// Records the pruned ranges of an object.
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

/// Returns the part of a field to prune.
pub(super) fn node<'p>(paths: &'p Paths, key: &[u8]) -> Option<&'p Node> {
    paths.of(key)
}

/// Records the pruned ranges of a value.
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

/// The ranges of an object to keep, in order.
#[derive(Debug, Default)]
pub(super) struct Body {
    pieces: Vec<Range<usize>>,
    /// Start of the next piece.
    start: usize,
}

impl Body {
    /// Copies the pieces into a box of exactly their size.
    pub(super) fn copy(mut self, object: &[u8]) -> Box<[u8]> {
        self.pieces.push(self.start..object.len());
        let mut copy = Vec::with_capacity(self.pieces.iter().map(Range::len).sum());
        for piece in self.pieces {
            copy.extend_from_slice(&object[piece]);
        }
        copy.into_boxed_slice()
    }

    fn remove(&mut self, cut: Range<usize>) {
        self.pieces.push(self.start..cut.start);
        self.start = cut.end;
    }
}

/// Tracks the kept and removed members of an object (`cut.K1`).
#[derive(Debug)]
pub(super) struct Members {
    /// End of the last kept member, or of the opening brace.
    edge: usize,
    any_kept: bool,
    /// End of the last removed member after `edge`.
    cut: Option<usize>,
}

impl Members {
    /// Creates a tracker after the reader has entered the object.
    pub(super) fn new(reader: &Reader<'_>) -> Self {
        Self { edge: reader.offset(), any_kept: false, cut: None }
    }

    /// Called after the key of a kept member.
    pub(super) fn keep(&mut self, reader: &Reader<'_>, body: &mut Body) {
        if let Some(end) = self.cut.take() {
            // Keep the comma before this member if there is a kept member before it.
            let end = if self.any_kept { end } else { reader.key_offset() };
            body.remove(self.edge..end);
        }
    }

    /// Called after a kept member.
    pub(super) fn kept(&mut self, reader: &Reader<'_>) {
        self.any_kept = true;
        self.edge = reader.offset();
    }

    /// Called after a removed member.
    pub(super) fn cut(&mut self, reader: &Reader<'_>) {
        self.cut = Some(reader.offset());
    }

    /// Called at the end of the object.
    pub(super) fn end(self, body: &mut Body) {
        if let Some(end) = self.cut {
            body.remove(self.edge..end);
        }
    }
}
