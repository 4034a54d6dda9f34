//! Response body of a list, spliced from the cached bytes.

use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_wire::Kind;
use watchkeeper_wire::transcode::{self, Types};

use super::page::Page;
use crate::envelope::{Failure, SUCCESS_PREFIX};

/// Approximate size of `apiVersion`, `kind` and a comma, in bytes.
const TYPE: usize = 64;

pub(super) fn write(page: &Page, kind: &Kind, is_secret: bool) -> Result<Vec<u8>, Failure> {
    let size = |body: &Encoded| body.body.len() + TYPE;
    let mut out =
        Vec::with_capacity(TYPE * 4 + page.objects.iter().map(|it| size(&it.encoded)).sum::<usize>());
    out.extend_from_slice(SUCCESS_PREFIX);
    out.push(b'[');
    for (at, object) in page.objects.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if is_secret {
            write_secret(&object.encoded, kind, &mut out)?;
        } else {
            transcode::to_json(&object.encoded, kind, Types::Named, &mut out).map_err(Failure::internal)?;
        }
    }
    out.push(b']');
    if let Some((place, remaining)) = &page.next {
        // Tokens contain no characters that need escaping.
        out.extend_from_slice(
            format!(r#","continue":"{}","remaining":{remaining}"#, place.token()).as_bytes(),
        );
    }
    out.push(b'}');
    Ok(out)
}

fn write_secret(encoded: &Encoded, kind: &Kind, out: &mut Vec<u8>) -> Result<(), Failure> {
    let mut whole = Vec::new();
    transcode::to_json(encoded, kind, Types::Named, &mut whole).map_err(Failure::internal)?;
    let mut value: Value = serde_json::from_slice(&whole).map_err(Failure::internal)?;
    crate::secret::redact(&mut value);
    serde_json::to_writer(out, &value).map_err(Failure::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;
    use watchkeeper_core::{Object, ObjectMetaBuilder};

    fn written(bodies: Vec<Encoded>, kind: &Kind) -> Value {
        let object = |encoded| Arc::new(Object { metadata: ObjectMetaBuilder::default().finish(), encoded });
        let page = Page { objects: bodies.into_iter().map(object).collect(), next: None };
        let out = write(&page, kind, false).unwrap_or_default();
        serde_json::from_slice(&out).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(&out)))
    }

    #[test]
    fn json_and_protobuf_give_the_same_json() {
        let kind = Kind::new("", "v1", "ConfigMap");
        let body = Encoded::json(br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#.as_slice());
        let message = transcode::to_protobuf(&body, &kind).unwrap_or_default();
        let data = written(vec![body, Encoded::protobuf(message)], &kind)["data"].take();
        assert_eq!(
            data[0],
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}})
        );
        assert_eq!(data[1]["data"], data[0]["data"]);
        assert_eq!((&data[1]["apiVersion"], &data[1]["kind"]), (&json!("v1"), &json!("ConfigMap")));
        assert_eq!(data[1]["metadata"]["name"], "a");
    }

    #[test]
    fn empty_lists_and_empty_objects_are_valid() {
        let kind = Kind::new("", "v1", "ConfigMap");
        assert_eq!(written(vec![], &kind), json!({"code": 20000, "message": "success", "data": []}));
        let data = written(vec![Encoded::json(*b"{}"), Encoded::json(*b"{ }")], &kind)["data"].take();
        assert_eq!(
            data,
            json!([{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "ConfigMap"}])
        );
    }

    #[test]
    fn invalid_bodies_are_errors() {
        let object =
            Object { metadata: ObjectMetaBuilder::default().finish(), encoded: Encoded::json(*b"[]") };
        let page = Page { objects: vec![Arc::new(object)], next: None };
        assert!(write(&page, &Kind::new("", "v1", "ConfigMap"), false).is_err());
        assert!(write(&page, &Kind::new("", "v1", "Secret"), true).is_err());
    }
}
