//! Body: objects in an envelope, spliced from their bytes.

use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_wire::Kind;
use watchkeeper_wire::transcode::{self, Types};

use super::page::Page;
use crate::envelope::{Failure, OPENING};

/// About what `apiVersion`, `kind` and a comma take.
const TYPE: usize = 64;

pub(super) fn write(page: &Page, kind: &Kind, is_secret: bool) -> Result<Vec<u8>, Failure> {
    let size = |body: &Encoded| body.body.len() + TYPE;
    let mut out =
        Vec::with_capacity(TYPE * 4 + page.objects.iter().map(|it| size(&it.encoded)).sum::<usize>());
    out.extend_from_slice(OPENING);
    out.push(b'[');
    for (at, object) in page.objects.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if is_secret {
            write_secret(&object.encoded, kind, &mut out)?;
        } else {
            transcode::to_json(&object.encoded, kind, Types::Named, &mut out).map_err(Failure::broken)?;
        }
    }
    out.push(b']');
    if let Some((place, remaining)) = &page.next {
        // A token has no characters that JSON would escape.
        out.extend_from_slice(
            format!(r#","continue":"{}","remaining":{remaining}"#, place.token()).as_bytes(),
        );
    }
    out.push(b'}');
    Ok(out)
}

fn write_secret(encoded: &Encoded, kind: &Kind, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut whole = Vec::new();
    transcode::to_json(encoded, kind, Types::Named, &mut whole).map_err(Failure::broken)?;
    let mut value: Value = serde_json::from_slice(&whole).map_err(Failure::broken)?;
    crate::secret::redact(&mut value);
    serde_json::to_writer(out, &value).map_err(Failure::broken)
}
