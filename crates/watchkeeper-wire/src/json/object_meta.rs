//! Parses the `metadata` of a JSON object.

use std::borrow::Cow;

use watchkeeper_core::{ObjectMeta, ObjectMetaBuilder, OwnerReference, Timestamp};

use super::cut::{Body, Members, cut_value, node};
use super::{Keys, Reader};
use crate::{Annotations, Limits, Malformed, Node, Paths, Problem};

/// Parses the metadata of an object in one pass.
///
/// As in Go, `null` is an absent field. The name may be empty, as in bookmarks and bodies with
/// `generateName`. Outside of `metadata`, the JSON is only checked for balanced brackets.
///
/// ```
/// use watchkeeper_core::ObjectMetaBuilder;
/// use watchkeeper_wire::{Annotations, json};
///
/// let object = br#"{"spec":{},"metadata":{"name":"web-0","namespace":"default","labels":{"app":"web"}}}"#;
/// let metadata = json::read_object_meta(object, Annotations::Skip, &mut ObjectMetaBuilder::default())?;
/// assert_eq!(metadata.key().to_string(), "default/web-0");
/// assert_eq!(metadata.label("app"), Some("web"));
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
///
/// # Errors
/// If the input is not a JSON object, has no `metadata`, has an invalid field in the metadata, has
/// duplicate keys at the top level, in the metadata or in one of its maps, or exceeds
/// [`Limits::DEFAULT`].
pub fn read_object_meta(
    object: &[u8],
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
) -> Result<ObjectMeta, Malformed> {
    let mut reader = Reader::new(object, Limits::DEFAULT);
    let (mut keys, mut found) = (Keys::default(), false);
    check_length(object, Limits::DEFAULT)?;
    builder.clear();
    reader.begin_object()?;
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        if *key == *b"metadata" {
            found = read_metadata(&mut reader, annotations, builder, &Paths::none(), &mut Body::default())?;
        } else {
            reader.skip()?;
        }
    }
    finish(reader, found, builder)
}

/// Checks the length of an object. The metadata of a larger object could exceed 4 GiB.
pub(super) fn check_length(object: &[u8], limits: Limits) -> Result<(), Malformed> {
    let limit = limits.object_bytes.min(u32::MAX as usize);
    if object.len() > limit {
        return Err(Malformed::new(0, Problem::TooLong { what: "object", limit }));
    }
    Ok(())
}

/// Returns the metadata after the whole object has been read.
pub(super) fn finish(
    mut reader: Reader<'_>,
    found: bool,
    builder: &mut ObjectMetaBuilder,
) -> Result<ObjectMeta, Malformed> {
    reader.end()?;
    if !found {
        return Err(reader.error(Problem::Expected("metadata")));
    }
    Ok(builder.finish())
}

/// Parses the value of `metadata` and records its pruned ranges. Returns whether it was present.
pub(super) fn read_metadata(
    reader: &mut Reader<'_>,
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
    cut: &Paths,
    body: &mut Body,
) -> Result<bool, Malformed> {
    if reader.take_null()? {
        return Ok(false);
    }
    reader.begin_object()?;
    let (mut keys, mut members) = (Keys::default(), Members::new(reader));
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        match node(cut, &key) {
            Some(Node::Whole) => {
                read_field(reader, &key, annotations, builder)?;
                members.cut(reader);
            }
            Some(Node::Below(paths)) => {
                members.keep(reader, body);
                cut_value(&mut reader.clone(), paths, body)?;
                read_field(reader, &key, annotations, builder)?;
                members.kept(reader);
            }
            None => {
                members.keep(reader, body);
                read_field(reader, &key, annotations, builder)?;
                members.kept(reader);
            }
        }
    }
    members.end(body);
    Ok(true)
}

/// Parses a field of the metadata.
fn read_field(
    reader: &mut Reader<'_>,
    name: &[u8],
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
) -> Result<(), Malformed> {
    if reader.take_null()? {
        return Ok(());
    }
    match name {
        b"name" => _ = builder.name(&reader.string()?),
        b"namespace" => _ = builder.namespace(&reader.string()?),
        b"uid" => _ = builder.uid(&reader.string()?),
        b"resourceVersion" => _ = builder.version(&reader.string()?),
        b"generation" => _ = builder.generation(reader.integer("generation")?),
        b"creationTimestamp" => _ = builder.created(read_time(reader)?),
        b"deletionTimestamp" => _ = builder.deleted(read_time(reader)?),
        b"labels" => read_pairs(reader, |key, value| _ = builder.label(key, value))?,
        b"annotations" if annotations == Annotations::Keep => {
            read_pairs(reader, |key, value| _ = builder.annotation(key, value))?;
        }
        b"ownerReferences" => {
            reader.begin_array()?;
            while reader.next_element()? {
                read_owner(reader, builder)?;
            }
        }
        _ => reader.skip()?,
    }
    Ok(())
}

/// Parses a timestamp. Go writes an unset time as `null`, and treats its zero time as unset.
fn read_time(reader: &mut Reader<'_>) -> Result<Option<Timestamp>, Malformed> {
    reader.peek()?;
    let offset = reader.offset();
    let text = reader.string()?;
    match text.parse() {
        Ok(Timestamp::GO_ZERO) => Ok(None),
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(Malformed::new(offset, Problem::bad_value("an RFC 3339 time", &text))),
    }
}

/// Parses a map of strings. As in Go, a `null` value is the empty string.
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

fn read_owner(reader: &mut Reader<'_>, builder: &mut ObjectMetaBuilder) -> Result<(), Malformed> {
    let (mut api_version, mut kind, mut name, mut uid, mut controller) = Default::default();
    if !reader.take_null()? {
        reader.begin_object()?;
        let mut keys = Keys::default();
        while let Some(key) = reader.next_key_bytes()? {
            keys.add(&key, reader.key_offset())?;
            match &*key {
                b"apiVersion" => api_version = read_text(reader)?,
                b"kind" => kind = read_text(reader)?,
                b"name" => name = read_text(reader)?,
                b"uid" => uid = read_text(reader)?,
                b"controller" => controller = !reader.take_null()? && reader.boolean()?,
                _ => reader.skip()?,
            }
        }
    }
    builder.owner(&OwnerReference {
        api_version: &api_version,
        kind: &kind,
        name: &name,
        uid: &uid,
        controller,
    });
    Ok(())
}

/// Parses a string, or `null` as the empty string.
fn read_text<'a>(reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Malformed> {
    if reader.take_null()? { Ok(Cow::default()) } else { reader.string() }
}
