//! Reading the head of a JSON object: its `metadata`, wherever that stands.

use std::borrow::Cow;

use watchkeeper_core::{Head, HeadBuilder, Owner, Timestamp};

use super::cut::{Body, Members, cut_value, node};
use super::{Keys, Reader};
use crate::{Annotations, Limits, Malformed, Node, Paths, Problem};

/// Reads the head of an object in one pass over its bytes.
///
/// `null` means that a field is not there, as it does to Go. An object without a name has a head
/// too: bookmarks and bodies with `generateName` have none. What is outside of `metadata` is only
/// checked for being balanced; that it is JSON will be seen by whoever reads it.
///
/// ```
/// use watchkeeper_core::HeadBuilder;
/// use watchkeeper_wire::{Annotations, json};
///
/// let object = br#"{"spec":{},"metadata":{"name":"web-0","namespace":"default","labels":{"app":"web"}}}"#;
/// let head = json::read_head(object, Annotations::Skip, &mut HeadBuilder::default())?;
/// assert_eq!(head.key().to_string(), "default/web-0");
/// assert_eq!(head.label("app"), Some("web"));
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
///
/// # Errors
/// Where the bytes are not one JSON object, where it has no `metadata`, where a field of the
/// metadata is not what it should be, where a key comes twice at the top, in the metadata or in one
/// of its maps, or where [`Limits::DEFAULT`] is exceeded.
pub fn read_head(object: &[u8], annotations: Annotations, head: &mut HeadBuilder) -> Result<Head, Malformed> {
    let mut reader = Reader::new(object, Limits::DEFAULT);
    let (mut keys, mut found) = (Keys::default(), false);
    check_length(object, Limits::DEFAULT)?;
    head.clear();
    reader.begin_object()?;
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        if *key == *b"metadata" {
            found = read_metadata(&mut reader, annotations, head, &Paths::none(), &mut Body::default())?;
        } else {
            reader.skip()?;
        }
    }
    finish(reader, found, head)
}

/// A head is within 4 GiB if its object is.
pub(super) fn check_length(object: &[u8], limits: Limits) -> Result<(), Malformed> {
    let limit = limits.object_bytes.min(u32::MAX as usize);
    match object.len() > limit {
        true => Err(Malformed::new(0, Problem::TooLong { what: "object", limit })),
        false => Ok(()),
    }
}

/// The head, once all of the object has been read.
pub(super) fn finish(mut reader: Reader<'_>, found: bool, head: &mut HeadBuilder) -> Result<Head, Malformed> {
    reader.end()?;
    if !found {
        return Err(reader.error(Problem::Expected("metadata")));
    }
    Ok(head.finish())
}

/// Reads the value of `metadata`, and notes what of it is cut out. Returns whether there was one.
pub(super) fn read_metadata(
    reader: &mut Reader<'_>,
    annotations: Annotations,
    head: &mut HeadBuilder,
    cut: &Paths,
    body: &mut Body,
) -> Result<bool, Malformed> {
    if reader.null_comes()? {
        return Ok(false);
    }
    reader.begin_object()?;
    let (mut keys, mut members) = (Keys::default(), Members::new(reader));
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        match node(cut, &key) {
            Some(Node::Whole) => {
                read_field(reader, &key, annotations, head)?;
                members.cut(reader);
            }
            Some(Node::Below(paths)) => {
                members.keep(reader, body);
                cut_value(&mut reader.clone(), paths, body)?;
                read_field(reader, &key, annotations, head)?;
                members.kept(reader);
            }
            None => {
                members.keep(reader, body);
                read_field(reader, &key, annotations, head)?;
                members.kept(reader);
            }
        }
    }
    members.end(body);
    Ok(true)
}

/// Reads one field of the metadata.
fn read_field(
    reader: &mut Reader<'_>,
    name: &[u8],
    annotations: Annotations,
    head: &mut HeadBuilder,
) -> Result<(), Malformed> {
    if reader.null_comes()? {
        return Ok(());
    }
    match name {
        b"name" => _ = head.name(&reader.string()?),
        b"namespace" => _ = head.namespace(&reader.string()?),
        b"uid" => _ = head.uid(&reader.string()?),
        b"resourceVersion" => _ = head.version(&reader.string()?),
        b"generation" => _ = head.generation(reader.integer("generation")?),
        b"creationTimestamp" => _ = head.created(read_time(reader)?),
        b"deletionTimestamp" => _ = head.deleted(read_time(reader)?),
        b"labels" => read_pairs(reader, |key, value| _ = head.label(key, value))?,
        b"annotations" if annotations == Annotations::Keep => {
            read_pairs(reader, |key, value| _ = head.annotation(key, value))?;
        }
        b"ownerReferences" => {
            reader.begin_array()?;
            while reader.next_element()? {
                read_owner(reader, head)?;
            }
        }
        _ => reader.skip()?,
    }
    Ok(())
}

/// Go writes a time that is not set as `null`, and takes the first moment of the year 1 for one.
fn read_time(reader: &mut Reader<'_>) -> Result<Option<Timestamp>, Malformed> {
    reader.peek()?;
    let place = reader.offset();
    let text = reader.string()?;
    match text.parse() {
        Ok(Timestamp::GO_ZERO) => Ok(None),
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(Malformed::new(place, Problem::bad_value("a time in RFC 3339", &text))),
    }
}

/// A map from text to text. Go reads a `null` in it as the empty text.
fn read_pairs(reader: &mut Reader<'_>, mut pair: impl FnMut(&str, &str)) -> Result<(), Malformed> {
    reader.begin_object()?;
    let mut keys = Keys::default();
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        let key = reader.key_text(key)?;
        pair(&key, &read_text(reader)?);
    }
    Ok(())
}

fn read_owner(reader: &mut Reader<'_>, head: &mut HeadBuilder) -> Result<(), Malformed> {
    let (mut api_version, mut kind, mut name, mut uid, mut controller) = Default::default();
    if !reader.null_comes()? {
        reader.begin_object()?;
        let mut keys = Keys::default();
        while let Some(key) = reader.next_key_bytes()? {
            keys.add(&key, reader.key_offset())?;
            match &*key {
                b"apiVersion" => api_version = read_text(reader)?,
                b"kind" => kind = read_text(reader)?,
                b"name" => name = read_text(reader)?,
                b"uid" => uid = read_text(reader)?,
                b"controller" => controller = !reader.null_comes()? && reader.boolean()?,
                _ => reader.skip()?,
            }
        }
    }
    head.owner(&Owner { api_version: &api_version, kind: &kind, name: &name, uid: &uid, controller });
    Ok(())
}

/// A text, or the empty text for `null`.
fn read_text<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Malformed> {
    if reader.null_comes()? { Ok(Cow::default()) } else { reader.string() }
}
