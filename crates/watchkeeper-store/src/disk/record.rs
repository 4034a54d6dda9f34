//! Records: encoding and decoding of payloads. The format is described in [the store](super).

use watchkeeper_core::{BoxError, ObjectKey};

use super::frame::LARGEST;
use crate::{CollectionId, Revision, Stored, Unversioned};

const PUT: u8 = 1;
const DELETE: u8 = 2;
const END: u8 = 3;

const SHORT: &str = "the record is truncated";

/// A decoded payload.
#[derive(Debug)]
pub(super) enum Record {
    /// An object as stored.
    Put { collection: CollectionId, stored: Stored },
    /// A deletion.
    Delete { collection: CollectionId, key: ObjectKey, revision: Revision },
    /// The end of a snapshot with this number of objects.
    End { objects: u64 },
}

/// Returns the object as it would be read back from disk, so that whatever is written can be read.
///
/// # Errors
/// Fails if the object is not JSON with metadata, if its body and metadata have different keys, or if it is too large.
pub(super) fn readable(collection: &CollectionId, value: &Unversioned) -> Result<Unversioned, BoxError> {
    let (before, after) = value.around_version();
    if before.len() + after.len() + collection.as_str().len() > LARGEST {
        return Err("object is too large for a record".into());
    }
    let again = Unversioned::from_json(&[before, after].concat())?;
    let texts = [collection.as_str(), again.key().namespace().unwrap_or_default()];
    if texts.iter().any(|text| text.len() > usize::from(u16::MAX)) {
        return Err("object names are too long for a record".into());
    }
    if again.key() == value.key() {
        Ok(again)
    } else {
        Err("object has different names in its metadata and its body".into())
    }
}

/// Appends the payload of a write.
pub(super) fn put(out: &mut Vec<u8>, collection: &CollectionId, stored: &Stored) {
    out.push(PUT);
    out.extend_from_slice(&stored.modified().get().to_le_bytes());
    out.extend_from_slice(&stored.created().get().to_le_bytes());
    text(out, collection.as_str());
    out.extend_from_slice(&stored.object().encoded.body);
}

/// Returns the length of the payload of a write.
pub(super) fn put_length(collection: &CollectionId, stored: &Stored) -> usize {
    1 + 8 + 8 + 2 + collection.as_str().len() + stored.object().encoded.body.len()
}

/// Appends the payload of a deletion.
pub(super) fn delete(out: &mut Vec<u8>, collection: &CollectionId, key: &ObjectKey, revision: Revision) {
    out.push(DELETE);
    out.extend_from_slice(&revision.get().to_le_bytes());
    text(out, collection.as_str());
    text(out, key.namespace().unwrap_or_default());
    out.extend_from_slice(key.name().as_bytes());
}

/// Appends the payload that ends a snapshot.
pub(super) fn end(out: &mut Vec<u8>, objects: u64) {
    out.push(END);
    out.extend_from_slice(&objects.to_le_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("`readable` lets nothing longer pass");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Decodes a payload whose checksum matched.
///
/// # Errors
/// Returns a description of the damage.
pub(super) fn read(payload: &[u8]) -> Result<Record, &'static str> {
    let (record_type, rest) = payload.split_first().ok_or(SHORT)?;
    match *record_type {
        PUT => {
            let (modified, rest) = read_number(rest)?;
            let (created, rest) = read_number(rest)?;
            let (collection, body) = read_text(rest).ok_or(SHORT)?;
            let value =
                Unversioned::from_json(body).map_err(|_| "the body of the record is not a valid object")?;
            let stored = value.commit(Revision::new(created), Revision::new(modified));
            if *stored.object().encoded.body == *body {
                Ok(Record::Put { collection: collection.into(), stored })
            } else {
                Err("the body of the record has another revision")
            }
        }
        DELETE => {
            let (revision, rest) = read_number(rest)?;
            let (collection, rest) = read_text(rest).ok_or(SHORT)?;
            let (namespace, name) = read_text(rest).ok_or(SHORT)?;
            let name = str::from_utf8(name).map_err(|_| "the name in the record is not UTF-8")?;
            let key = ObjectKey::namespaced(namespace, name);
            Ok(Record::Delete { collection: collection.into(), key, revision: Revision::new(revision) })
        }
        END => Ok(Record::End { objects: read_number(rest)?.0 }),
        _ => Err("the record is of an unknown type"),
    }
}

fn read_number(bytes: &[u8]) -> Result<(u64, &[u8]), &'static str> {
    let (number, rest) = bytes.split_first_chunk().ok_or(SHORT)?;
    Ok((u64::from_le_bytes(*number), rest))
}

fn read_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((str::from_utf8(text).ok()?, rest))
}
