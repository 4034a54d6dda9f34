//! Parses the `metadata` of a protobuf message, which is field 1 of every kind.

use watchkeeper_core::{ObjectMeta, ObjectMetaBuilder, OwnerReference};

use super::{Cursor, Tag, Wire, read_time};
use crate::{Annotations, Malformed, Problem};

/// Parses the metadata of an object in one pass.
///
/// Other fields are skipped by their length. The name may be empty, as in bookmarks and bodies with
/// `generateName`.
///
/// # Errors
/// If the message is malformed or has no `metadata`.
pub fn read_object_meta(
    message: &[u8],
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
) -> Result<ObjectMeta, Malformed> {
    builder.clear();
    let mut cursor = Cursor::new(message);
    let mut found = false;
    while let Some(tag) = cursor.tag()? {
        if tag.field != 1 {
            cursor.skip(tag.wire)?;
            continue;
        }
        cursor.expect(tag, Wire::Bytes)?;
        if std::mem::replace(&mut found, true) {
            return cursor.fail(Problem::ScatteredField { field: 1 });
        }
        read_metadata(cursor.message()?, annotations, builder)?;
    }
    if !found {
        return cursor.fail(Problem::Expected("metadata"));
    }
    Ok(builder.finish())
}

fn read_metadata(
    mut cursor: Cursor<'_>,
    annotations: Annotations,
    builder: &mut ObjectMetaBuilder,
) -> Result<(), Malformed> {
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => {
                builder.name(cursor.text()?);
            }
            (3, Wire::Bytes) => {
                builder.namespace(cursor.text()?);
            }
            (5, Wire::Bytes) => {
                builder.uid(cursor.text()?);
            }
            (6, Wire::Bytes) => {
                builder.version(cursor.text()?);
            }
            (7, Wire::Varint) => {
                builder.generation(cursor.varint()? as i64);
            }
            (8, Wire::Bytes) => {
                builder.created(read_time(cursor.message()?)?);
            }
            (9, Wire::Bytes) => {
                builder.deleted(read_time(cursor.message()?)?);
            }
            (11, Wire::Bytes) => {
                let (key, value) = read_pair(cursor.message()?)?;
                builder.label(key, value);
            }
            (12, Wire::Bytes) if annotations == Annotations::Keep => {
                let (key, value) = read_pair(cursor.message()?)?;
                builder.annotation(key, value);
            }
            (13, Wire::Bytes) => {
                builder.owner(&read_owner(cursor.message()?)?);
            }
            (1 | 3 | 5 | 6 | 7 | 8 | 9 | 11 | 13, _) => return wrong_wire(&cursor, tag),
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok(())
}

fn wrong_wire<T>(cursor: &Cursor<'_>, tag: Tag) -> Result<T, Malformed> {
    cursor.fail(Problem::WrongWireType { field: tag.field, found: tag.wire as u8 })
}

/// Reads an entry of a map of strings.
fn read_pair(mut cursor: Cursor<'_>) -> Result<(&str, &str), Malformed> {
    let (mut key, mut value) = ("", "");
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => key = cursor.text()?,
            (2, Wire::Bytes) => value = cursor.text()?,
            (1 | 2, _) => return wrong_wire(&cursor, tag),
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok((key, value))
}

fn read_owner(mut cursor: Cursor<'_>) -> Result<OwnerReference<'_>, Malformed> {
    let mut owner = OwnerReference::default();
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Bytes) => owner.kind = cursor.text()?,
            (3, Wire::Bytes) => owner.name = cursor.text()?,
            (4, Wire::Bytes) => owner.uid = cursor.text()?,
            (5, Wire::Bytes) => owner.api_version = cursor.text()?,
            (6, Wire::Varint) => owner.controller = cursor.varint()? != 0,
            (1 | 3 | 4 | 5 | 6, _) => return wrong_wire(&cursor, tag),
            _ => cursor.skip(tag.wire)?,
        }
    }
    Ok(owner)
}
