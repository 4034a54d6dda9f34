//! Response: a server's response as one JSON document, whatever its encoding.
//!
//! `{"code": 200, "headers": {...}, "body": ...}`, or `"events": [...]` for a watch. A protobuf body is converted to
//! JSON; a body that is neither protobuf nor JSON becomes a string.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};
use watchkeeper_core::Encoded;
use watchkeeper_wire::Kind;
use watchkeeper_wire::gzip::Gunzip;
use watchkeeper_wire::protobuf::Envelope;
use watchkeeper_wire::transcode::{self, Types};

use super::Outcome;

/// The headers to compare: those that clients rely on.
const HEADERS: [&str; 12] = [
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "etag",
    "location",
    "retry-after",
    "vary",
    "warning",
    "www-authenticate",
    "x-content-type-options",
    "accept-patch",
];

/// Whether a response is a watch stream, and how many of its events to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watch {
    No,
    Events(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiResponse(pub(crate) Value);

impl ApiResponse {
    pub(crate) fn read(code: StatusCode, headers: &HeaderMap, bytes: &[u8], watch: Watch) -> Outcome<Self> {
        let decompressed;
        let bytes = match headers.get("content-encoding").map(|value| value.as_bytes()) {
            Some(b"gzip") => {
                decompressed = gunzip(bytes)?;
                &decompressed
            }
            _ => bytes,
        };
        let mut compared = Map::new();
        for name in HEADERS {
            let values: Vec<_> =
                headers.get_all(name).iter().map(|it| String::from_utf8_lossy(it.as_bytes())).collect();
            if !values.is_empty() {
                compared.insert(name.to_owned(), values.join(", ").into());
            }
        }
        let mut response = json!({"code": code.as_u16(), "headers": compared});
        if let Watch::Events(max) = watch
            && code == StatusCode::OK
        {
            response["events"] = events(headers, bytes, max)?.into();
        } else {
            response["body"] = body(headers, bytes)?;
        }
        Ok(Self(response))
    }

    pub(crate) fn code(&self) -> u64 {
        self.0["code"].as_u64().unwrap_or_default()
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns the number of complete events.
pub(crate) fn count_events(headers: &HeaderMap, bytes: &[u8]) -> usize {
    if content_type(headers).starts_with("application/vnd.kubernetes.protobuf") {
        return frames(bytes).count();
    }
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let frame = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        bytes = &rest[frame.len()..];
        Some(frame)
    })
}

fn events(headers: &HeaderMap, bytes: &[u8], max: usize) -> Outcome<Vec<Value>> {
    if !content_type(headers).starts_with("application/vnd.kubernetes.protobuf") {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(max);
        return lines.map(|line| Ok(serde_json::from_slice(line)?)).collect();
    }
    frames(bytes)
        .take(max)
        .map(|frame| {
            let kind = String::from_utf8_lossy(field(frame, 1)).into_owned();
            Ok(json!({"type": kind, "object": enveloped(field(field(frame, 2), 1))?}))
        })
        .collect()
}

fn body(headers: &HeaderMap, bytes: &[u8]) -> Outcome<Value> {
    let content_type = content_type(headers);
    if content_type.starts_with("application/vnd.kubernetes.protobuf") {
        return enveloped(bytes);
    }
    if content_type.starts_with("application/json")
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return Ok(value);
    }
    Ok(String::from_utf8_lossy(bytes).into())
}

/// Converts a protobuf message in its envelope to JSON.
fn enveloped(bytes: &[u8]) -> Outcome<Value> {
    let envelope = Envelope::open(bytes)?;
    let (group, version) = envelope.api_version.split_once('/').unwrap_or(("", envelope.api_version));
    let mut value = message(envelope.message, &Kind::new(group, version, envelope.kind))?;
    value["apiVersion"] = envelope.api_version.into();
    value["kind"] = envelope.kind.into();
    Ok(value)
}

fn message(bytes: &[u8], kind: &Kind) -> Outcome<Value> {
    let mut out = Vec::new();
    transcode::to_json(&Encoded::protobuf(bytes.to_vec()), kind, Types::Omitted, &mut out)?;
    Ok(serde_json::from_slice(&out)?)
}

/// Returns a field of a protobuf message whose fields are all length-delimited, with numbers below 16.
fn field(mut message: &[u8], number: u8) -> &[u8] {
    while let Some((tag, rest)) = message.split_first() {
        let digits = rest.iter().take_while(|byte| **byte >= 0x80).count() + 1;
        let groups = rest.iter().take(digits).enumerate();
        let length = groups.fold(0, |sum, (group, byte)| sum | usize::from(byte & 0x7f) << (7 * group));
        let (value, rest) = rest[digits..].split_at(length);
        if tag >> 3 == number {
            return value;
        }
        message = rest;
    }
    &[]
}

fn gunzip(bytes: &[u8]) -> Outcome<Vec<u8>> {
    let mut gunzip = Gunzip::new(Gunzip::CHUNK_BYTES);
    gunzip.push(Bytes::copy_from_slice(bytes));
    let mut out = Vec::new();
    while let Some(chunk) = gunzip.next()? {
        out.extend_from_slice(&chunk);
    }
    gunzip.finish()?;
    Ok(out)
}
