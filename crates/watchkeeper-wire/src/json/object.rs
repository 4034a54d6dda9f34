//! Reads a JSON object for the cache: metadata and pruned body, in one pass and one copy.

use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

use super::cut::{Body, Members, cut_value, node};
use super::object_meta::{check_length, finish, read_metadata};
use super::{Keys, Reader};
use crate::{Malformed, Node, Paths, ReadOptions};

/// Parses the metadata of an object as [`read_object_meta`](super::read_object_meta) does, and copies its body without
/// pruned fields and without `apiVersion` and `kind` (`encoded.E1` of [`Encoded`]).
///
/// ```
/// use watchkeeper_core::ObjectMetaBuilder;
/// use watchkeeper_wire::{ReadOptions, json};
///
/// let bytes = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-0","managedFields":[]},"spec":{}}"#;
/// let object = json::read_object(bytes, &ReadOptions::default(), &mut ObjectMetaBuilder::default())?;
/// assert_eq!(object.metadata.key().name(), "web-0");
/// assert_eq!(&*object.encoded.body, br#"{"metadata":{"name":"web-0"},"spec":{}}"#);
/// # Ok::<(), watchkeeper_wire::Malformed>(())
/// ```
///
/// # Errors
/// As [`read_object_meta`](super::read_object_meta), with the given limits.
pub fn read_object(
    object: &[u8],
    read_options: &ReadOptions,
    builder: &mut ObjectMetaBuilder,
) -> Result<Object, Malformed> {
    check_length(object, read_options.limits)?;
    builder.clear();
    let mut reader = Reader::new(object, read_options.limits);
    let (mut body, mut keys, mut found) = (Body::default(), Keys::default(), false);
    let nothing = Paths::none();

    reader.begin_object()?;
    let mut members = Members::new(&reader);
    while let Some(key) = reader.next_key_bytes()? {
        keys.add(&key, reader.key_offset())?;
        let node = node(&read_options.cut, &key);
        let whole = matches!((&*key, node), (b"apiVersion" | b"kind", _) | (_, Some(Node::Whole)));
        let below = match node {
            Some(Node::Below(paths)) if !whole => paths,
            _ => &nothing,
        };
        if !whole {
            members.keep(&reader, &mut body);
        }
        if *key == *b"metadata" {
            found = read_metadata(&mut reader, read_options.annotations, builder, below, &mut body)?;
        } else if below.is_empty() {
            reader.skip()?;
        } else {
            cut_value(&mut reader, below, &mut body)?;
        }
        if whole {
            members.cut(&reader);
        } else {
            members.kept(&reader);
        }
    }
    members.end(&mut body);
    let metadata = finish(reader, found, builder)?;
    Ok(Object { metadata, encoded: Encoded::json(body.copy(object)) })
}
