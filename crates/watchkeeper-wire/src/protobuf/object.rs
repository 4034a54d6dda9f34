//! Reads a protobuf object for the cache.

use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder};

use super::{Cut, read_object_meta};
use crate::{Annotations, Malformed};

/// Parses the metadata of an object, and copies its message without the fields in `cut`.
///
/// A [`Cut`] applies to one kind: compile it once for all objects with [`Cut::compile`].
///
/// # Errors
/// If the message is malformed or has no `metadata`.
pub fn read_object(
    message: &[u8],
    annotations: Annotations,
    cut: &Cut,
    builder: &mut ObjectMetaBuilder,
) -> Result<Object, Malformed> {
    let metadata = read_object_meta(message, annotations, builder)?;
    Ok(Object { metadata, encoded: Encoded::protobuf(cut.copy(message)?) })
}
