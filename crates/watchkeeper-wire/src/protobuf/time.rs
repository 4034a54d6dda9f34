//! Timestamps in protobuf: seconds and nanoseconds.

use watchkeeper_core::Timestamp;

use super::{Cursor, Wire};
use crate::{Malformed, Problem};

/// Reads a timestamp. An unset one is an empty message.
///
/// Go writes 0 nanoseconds for a `Time`. Others are preserved; formatting a `Time` ignores them.
pub(crate) fn read_time(mut cursor: Cursor<'_>) -> Result<Option<Timestamp>, Malformed> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    while let Some(tag) = cursor.tag()? {
        match (tag.field, tag.wire) {
            (1, Wire::Varint) => seconds = cursor.varint()? as i64,
            (2, Wire::Varint) => {
                let at = cursor.offset();
                nanos = match u32::try_from(cursor.varint()?) {
                    Ok(nanos @ 0..1_000_000_000) => nanos,
                    _ => {
                        return Err(Malformed::new(at, Problem::NumberOutOfRange("nanoseconds")));
                    }
                };
            }
            (1 | 2, _) => cursor.expect(tag, Wire::Varint)?,
            _ => cursor.skip(tag.wire)?,
        }
    }
    let time = Timestamp { seconds, nanos };
    Ok((time != Timestamp::GO_ZERO).then_some(time))
}
