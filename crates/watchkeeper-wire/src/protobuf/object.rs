//! Reading an arriving protobuf object: its head and its body.

use watchkeeper_core::{Encoded, HeadBuilder, Object};

use super::{Cut, read_head};
use crate::{Annotations, Malformed};

/// Reads the head of an object, and copies its message without what is cut out.
///
/// The cut is that of one kind: [`Cut::compile`] makes it from paths, once for all objects.
///
/// # Errors
/// Where the message is malformed, or has no `metadata`.
pub fn read_object(
    message: &[u8],
    annotations: Annotations,
    cut: &Cut,
    head: &mut HeadBuilder,
) -> Result<Object, Malformed> {
    let head = read_head(message, annotations, head)?;
    Ok(Object { head, encoded: Encoded::protobuf(cut.copy(message)?) })
}
