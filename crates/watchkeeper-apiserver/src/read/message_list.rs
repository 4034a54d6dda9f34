//! Protobuf lists: the bytes around the items, whose lengths must be known before the first is sent.

use std::sync::Arc;

use crate::print::ListMeta;
use crate::store::Stored;
use bytes::Bytes;
use watchkeeper_core::Status;
use watchkeeper_wire::protobuf;

/// The number of objects measured at a time: their messages are in memory together.
const MEASURED: usize = 4096;

/// Returns the lengths of the messages of these items.
pub(super) fn measure(
    items: &[Arc<Stored>],
    encode: impl Fn(&[Arc<Stored>]) -> Result<Vec<Bytes>, Status>,
) -> Result<Vec<u32>, Status> {
    let mut lengths = Vec::with_capacity(items.len());
    for some in items.chunks(MEASURED) {
        for message in encode(some)? {
            lengths.push(u32::try_from(message.len()).map_err(Status::internal_error)?);
        }
    }
    Ok(lengths)
}

/// Returns the bytes before and after the items of a list in its envelope: metadata is field 1, items are field 2.
pub(super) fn message_list(
    metadata: &ListMeta,
    lengths: &[u32],
    api_version: &str,
    kind: &str,
) -> (Vec<u8>, Vec<u8>) {
    let ListMeta { resource_version, continue_token, remaining_item_count } = metadata;
    let mut meta = Vec::new();
    put_bytes(&mut meta, 1, b""); // selfLink, always present and empty
    put_bytes(&mut meta, 2, resource_version.as_bytes());
    put_bytes(&mut meta, 3, continue_token.as_bytes());
    if let Some(left) = remaining_item_count.and_then(|left| u64::try_from(left).ok()) {
        meta.push(4 << 3);
        put_varint(&mut meta, left);
    }
    let items: usize = lengths.iter().map(|length| field_bytes(*length as usize)).sum();
    let mut start = protobuf::wrap_start(api_version, kind, items + field_bytes(meta.len()));
    put_bytes(&mut start, 1, &meta);
    (start, protobuf::WRAP_END.to_vec())
}

/// Returns the encoded length of a field that [`put_bytes`] writes.
fn field_bytes(length: usize) -> usize {
    let bits = usize::BITS - length.leading_zeros();
    1 + bits.div_ceil(7).max(1) as usize + length
}

/// Appends a length-delimited field with a number below 16.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a varint.
fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
