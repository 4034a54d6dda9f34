//! OpenAPI v2, which is empty: everything is in v3.
//!
//! kubectl requests it nevertheless before it sends a `List`, or for an unknown kind, and fails if it does not exist.
//! It skips kinds that are not described.

use serde_json::json;

use super::{Document, JSON, digest};
use crate::http::VersionInfo;

/// The encoding of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swagger {
    /// `application/json`.
    Json,
    /// The messages of gnostic.
    Protobuf,
}

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Fields of gnostic's `Document` and `Info`, as tags of length-delimited fields.
const SWAGGER: u8 = 1 << 3 | 2;
const INFO: u8 = 2 << 3 | 2;
const PATHS: u8 = 8 << 3 | 2;
const TITLE: u8 = 1 << 3 | 2;
const VERSION: u8 = 2 << 3 | 2;

/// Returns the document.
pub fn openapi_v2(form: Swagger) -> Document {
    let version = VersionInfo::default().git_version;
    match form {
        Swagger::Json => Document::new(
            &json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": version}, "paths": {}}),
            JSON,
        ),
        Swagger::Protobuf => {
            let mut info = Vec::new();
            write(&mut info, TITLE, b"Kubernetes");
            write(&mut info, VERSION, version.as_bytes());
            let mut body = Vec::new();
            write(&mut body, SWAGGER, b"2.0");
            write(&mut body, INFO, &info);
            write(&mut body, PATHS, b"");
            Document { etag: format!("\"{}\"", digest(&body)), body: body.into(), content_type: PROTOBUF }
        }
    }
}

fn write(out: &mut Vec<u8>, tag: u8, content: &[u8]) {
    out.push(tag);
    out.push(u8::try_from(content.len()).expect("a name and a version are short"));
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_are_equivalent() {
        let message = openapi_v2(Swagger::Protobuf);
        assert!(message.body.starts_with(b"\x0a\x032.0\x12"), "{message:?}");
        assert!(message.body.ends_with(b"\x42\x00"), "{message:?}");
        let text = String::from_utf8(openapi_v2(Swagger::Json).body.to_vec()).unwrap();
        assert!(text.contains(r#""paths":{}"#), "{text}");
        assert_ne!(message.etag, openapi_v2(Swagger::Json).etag);
    }
}
