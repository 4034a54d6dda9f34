//! Responses, in the negotiated encoding and with the headers that clients rely on.
//!
//! Input: the [`Handler`](crate::http::Handler): encoded objects, statuses, streams of events.
//! Output: the connection.
//!
//! Invariants:
//! - `respond.A1`: every response has `Audit-Id` and `Cache-Control: no-cache, private`, unless it sets its own.
//! - `respond.A2`: a complete response of more than [`GZIP_BYTES`] is compressed if the client accepts gzip.
//! - `respond.A3`: a stream is never delayed: whatever is ready is sent. In a compressed stream each flush is a gzip
//!   member of its own, so that a reader never waits for the next event.

use std::pin::Pin;

use bytes::Bytes;
use futures_core::Stream;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::Value;
use watchkeeper_core::{BoxError, Encoded, Status, StatusReason};
use watchkeeper_wire::protobuf::wrap;
use watchkeeper_wire::{Kind, transcode};

use super::go_order::GoOrder;
use super::go_text::beginning;
use super::gzip::Gzip;
use super::negotiate::{Accepted, MediaType, Preferences, generic};
use super::outgoing::{BodyState, Ends};
use super::pieces::{Growing, Pieces};
use watchkeeper_core::is_printable;
use watchkeeper_wire::yaml;

pub use super::outgoing::Outgoing;

/// Responses with more bytes are compressed if the client accepts gzip.
pub const GZIP_BYTES: usize = 128 << 10;

/// Maximum total length of the warnings of a response in bytes; the rest is omitted.
pub const WARNING_BYTES: usize = 4 << 10;

/// Maximum length of a single warning in bytes when the warnings of a response exceed [`WARNING_BYTES`].
pub const LONG_WARNING_BYTES: usize = 256;

pub(crate) type EventStream = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status code.
    pub code: StatusCode,
    /// The headers; those common to all responses are added later.
    pub headers: HeaderMap,
    content: Content,
}

enum Content {
    Whole(Bytes),
    /// Longer than [`GZIP_BYTES`].
    Pieces(Growing),
    Stream(EventStream),
    Members(EventStream),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(body) => write!(f, "Whole({} bytes)", body.len()),
            Self::Pieces(_) => f.write_str("Pieces"),
            Self::Stream(_) => f.write_str("Stream"),
            Self::Members(_) => f.write_str("Members"),
        }
    }
}

impl Response {
    fn whole(code: StatusCode, content_type: &'static str, body: Bytes) -> Self {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
        Self { code, headers, content: Content::Whole(body) }
    }

    /// Creates a response from an encoded object.
    pub fn encoded(code: StatusCode, media: MediaType, body: impl Into<Bytes>) -> Self {
        Self::whole(code, media.as_str(), body.into())
    }

    /// Creates a response that is encoded while the client reads it. It must be longer than [`GZIP_BYTES`].
    pub(crate) fn pieces(code: StatusCode, media: MediaType, pieces: impl Pieces + 'static) -> Self {
        let content = Content::Pieces(Growing::new(Box::new(pieces)));
        Self { content, ..Self::whole(code, media.as_str(), Bytes::new()) }
    }

    /// Returns the number of bytes held in memory; 0 for a stream.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.content {
            Content::Whole(body) => body.len(),
            Content::Pieces(_) | Content::Stream(_) | Content::Members(_) => 0,
        }
    }

    /// Creates a response from an object's JSON. `kind` is needed only for protobuf.
    ///
    /// # Errors
    /// Returns 500 if the kind has no protobuf encoding, which negotiation should have prevented.
    pub fn object(code: StatusCode, accepted: Accepted, value: &Value, kind: &Kind) -> Result<Self, Status> {
        let body = match accepted.media {
            MediaType::JSON => json(&GoOrder(value), accepted.pretty),
            MediaType::Yaml => yaml::write(value).into_bytes(),
            MediaType::PROTOBUF => {
                let message = transcode::to_protobuf(&Encoded::json(json(value, false)), kind)
                    .map_err(|error| Status::internal_error(&error))?;
                wrap(kind.api_version(), kind.kind(), &message)
            }
        };
        Ok(Self::encoded(code, accepted.media, body))
    }

    /// Creates a response that is not a Kubernetes kind, such as `/version`: indented JSON, whatever the client
    /// accepts.
    pub fn raw_json(code: StatusCode, value: &impl Serialize) -> Self {
        Self::encoded(code, MediaType::JSON, json(value, true))
    }

    /// Creates a response from a status.
    pub fn status(status: &Status, preferences: &Preferences) -> Self {
        let code = u16::try_from(status.code).ok().and_then(|code| StatusCode::from_u16(code).ok());
        let code = code.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let accepted = preferences.status();
        // Serialized directly and not as a `Value`, to keep Go's field order.
        let text = json(status, accepted.pretty);
        let body = match accepted.media {
            MediaType::JSON => text,
            MediaType::Yaml => {
                yaml::write(&serde_json::from_slice(&text).expect("encoded above")).into_bytes()
            }
            MediaType::PROTOBUF => wrap("v1", "Status", &status_message(text)),
        };
        let mut response = Self::encoded(code, accepted.media, body);
        if let Some(wait) = status.retry_after().filter(|wait| !wait.is_zero()) {
            response.headers.insert(RETRY_AFTER, wait.as_secs().into());
        }
        response
    }

    /// Creates a plain text response.
    pub fn text(code: StatusCode, text: impl Into<Bytes>) -> Self {
        let mut response = Self::whole(code, "text/plain; charset=utf-8", text.into());
        response.headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        response
    }

    /// Creates a plain text response without `nosniff`, like some of kube-apiserver's.
    pub(crate) fn sniffed(code: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::whole(code, "text/plain; charset=utf-8", text.into())
    }

    /// Creates a response without a body.
    pub(crate) fn empty(code: StatusCode) -> Self {
        let mut response = Self::whole(code, "text/plain", Bytes::new());
        response.headers.remove(http::header::CONTENT_TYPE);
        response
    }

    /// Returns the response to unknown paths.
    pub fn page_not_found() -> Self {
        Self::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }

    /// Creates a streaming response, such as a log.
    pub fn stream<S>(code: StatusCode, content_type: HeaderValue, stream: S) -> Self
    where
        S: Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
        Self { code, headers, content: Content::Stream(Box::pin(stream)) }
    }

    /// Creates a watch response. Each item is a framed event: a line of JSON, or a length and a message. The response
    /// ends with the stream; an error aborts it.
    ///
    /// `compressed` is for a [watch list](crate::http::ListOptions::is_watch_list) of a client that accepts gzip, and
    /// for no other watch (`respond.A3`).
    pub fn watch<S>(media: MediaType, compressed: bool, events: S) -> Self
    where
        S: Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    {
        let content_type = media.of_watch().unwrap_or(MediaType::JSON.as_str());
        let mut response = Self::stream(StatusCode::OK, HeaderValue::from_static(content_type), events);
        if compressed {
            response.compressed();
            if let Content::Stream(stream) = response.content {
                response.content = Content::Members(stream);
            }
        }
        response
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Adds a `Warning` for each distinct text. If they exceed [`WARNING_BYTES`], each is shortened to
    /// [`LONG_WARNING_BYTES`] and omitted if it still does not fit.
    #[must_use]
    pub fn with_warnings<T: AsRef<str>>(mut self, texts: &[T]) -> Self {
        let long: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        let mut added: Vec<&str> = Vec::new();
        let mut bytes = 0;
        for text in texts.iter().map(AsRef::as_ref) {
            let text = if long > WARNING_BYTES { beginning(text, LONG_WARNING_BYTES) } else { text };
            if added.contains(&text) || bytes + text.len() > WARNING_BYTES {
                continue;
            }
            if let Ok(value) = HeaderValue::from_bytes(warning(text).as_bytes()) {
                bytes += text.len();
                added.push(text);
                self.headers.append(WARNING, value);
            }
        }
        self
    }

    /// Wraps a stream. A complete response is unchanged.
    #[must_use]
    pub(crate) fn map_stream(mut self, map: impl FnOnce(EventStream) -> EventStream) -> Self {
        self.content = match self.content {
            Content::Stream(stream) => Content::Stream(map(stream)),
            Content::Members(stream) => Content::Members(map(stream)),
            other @ (Content::Whole(_) | Content::Pieces(_)) => other,
        };
        self
    }

    /// Turns a complete response into a stream. A stream is unchanged.
    ///
    /// # Errors
    /// Returns 500 if the rest of a list cannot be encoded.
    pub(crate) fn map_whole<S>(mut self, map: impl FnOnce(Bytes) -> S) -> Result<Self, Status>
    where
        S: Stream<Item = Result<Bytes, BoxError>> + Send + 'static,
    {
        self.content = match self.content {
            Content::Whole(body) => Content::Stream(Box::pin(map(body))),
            Content::Pieces(pieces) => Content::Stream(Box::pin(map(pieces.collect()?))),
            stream => stream,
        };
        Ok(self)
    }

    fn compressed(&mut self) {
        self.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        self.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }

    /// Converts to an HTTP response.
    pub(crate) fn into_http(
        mut self,
        audit_id: HeaderValue,
        gzip: bool,
        ends: Ends,
    ) -> http::Response<Outgoing> {
        let gzip = gzip && !self.headers.contains_key(CONTENT_ENCODING);
        let content = match self.content {
            Content::Whole(body) if gzip && body.len() > GZIP_BYTES => {
                Content::Pieces(Growing::new(Box::new(body)))
            }
            content => content,
        };
        let content = match content {
            Content::Pieces(pieces) if gzip => {
                self.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                self.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
                BodyState::Compressed(Gzip::new(pieces, ends.budget.clone()))
            }
            Content::Pieces(pieces) => BodyState::Pieces(pieces),
            Content::Whole(body) => BodyState::Whole(Some(body).filter(|body| !body.is_empty())),
            Content::Stream(stream) => BodyState::Stream(stream),
            Content::Members(stream) => BodyState::Members { stream, ended: None },
        };
        self.headers.entry("audit-id").or_insert(audit_id);
        let cache = self.headers.entry(CACHE_CONTROL);
        cache.or_insert(HeaderValue::from_static("no-cache, private"));
        let mut response = http::Response::new(Outgoing::new(content, ends));
        *response.status_mut() = self.code;
        *response.headers_mut() = self.headers;
        response
    }
}

/// Returns the value of a `Warning` header: code 299, no agent, and the quoted text.
pub(crate) fn warning(text: &str) -> String {
    let text: String = text.chars().filter(|c| is_printable(*c)).collect();
    format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Encodes JSON like Go's encoder: one line with a newline, or indented without.
fn json(value: &impl Serialize, pretty: bool) -> Vec<u8> {
    let written = if pretty {
        serde_json::to_vec_pretty(value)
    } else {
        serde_json::to_vec(value).map(|mut line| {
            line.push(b'\n');
            line
        })
    };
    written.expect("our types have string keys and serializers that do not fail")
}

/// Converts a status from JSON to protobuf.
pub(crate) fn status_message(json: Vec<u8>) -> Vec<u8> {
    let message = transcode::to_protobuf(&Encoded::json(json), &Kind::new("", "v1", "Status"));
    message.expect("every status has a protobuf encoding")
}

/// 404: unknown resource. kube-apiserver returns this for known groups and versions; otherwise it returns
/// [`Response::page_not_found`].
pub fn no_such_resource() -> Status {
    generic(404, StatusReason::NotFound, "the server could not find the requested resource".to_owned())
}

/// 405: the resource does not support this method.
pub fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    generic(405, StatusReason::MethodNotAllowed, message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use tokio_util::sync::CancellationToken;
    use watchkeeper_core::GroupResource;
    use watchkeeper_wire::gzip::Gunzip;

    fn out(response: Response, gzip: bool) -> http::Response<Outgoing> {
        response.into_http(HeaderValue::from_static("id"), gzip, Ends::default())
    }

    fn preferences(accept: &str) -> Preferences {
        let headers = HeaderMap::from_iter([(http::header::ACCEPT, accept.parse().unwrap())]);
        Preferences::read(&headers, &super::super::Query::default())
    }

    async fn bytes(response: http::Response<Outgoing>) -> Bytes {
        response.into_body().collect().await.unwrap().to_bytes()
    }

    fn not_found() -> Status {
        Status::not_found(&GroupResource { group: String::new(), resource: "configmaps".into() }, "nope")
    }

    #[tokio::test]
    async fn a_status_is_encoded_like_kube_apiserver() {
        let line = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"configmaps \\\"nope\\\" not found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"nope\",\"kind\":\"configmaps\"},\"code\":404}\n";
        let answer = out(Response::status(&not_found(), &preferences("")), false);
        assert_eq!(answer.status(), 404);
        assert_eq!(answer.headers()["content-type"], "application/json");
        assert_eq!(answer.headers()["cache-control"], "no-cache, private");
        assert_eq!(answer.headers()["audit-id"], "id");
        assert_eq!(bytes(answer).await, line);

        let answer = out(Response::status(&not_found(), &preferences("text/html")), false);
        let pretty = "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n  \"status\": \"Failure\",\n  \"message\": \"configmaps \\\"nope\\\" not found\",\n  \"reason\": \"NotFound\",\n  \"details\": {\n    \"name\": \"nope\",\n    \"kind\": \"configmaps\"\n  },\n  \"code\": 404\n}";
        assert_eq!(bytes(answer).await, pretty);

        let answer =
            out(Response::status(&not_found(), &preferences("application/vnd.kubernetes.protobuf")), false);
        let body = bytes(answer).await;
        let begin = b"k8s\0\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x1bconfigmaps";
        assert!(body.starts_with(begin), "{body:?}");
        assert_eq!(body.len(), 133 - 2 * ("kube-root-ca.crt".len() - "nope".len())); // 133 bytes were recorded
    }

    #[test]
    fn retry_after_becomes_a_header() {
        let status = Status::too_many_requests("later", std::time::Duration::from_secs(7));
        let answer = out(Response::status(&status, &preferences("")), false);
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["retry-after"]),
            (429, &HeaderValue::from(7))
        );
    }

    #[tokio::test]
    async fn large_responses_are_compressed_if_the_client_accepts_gzip() {
        let body = Bytes::from(vec![b'x'; GZIP_BYTES + 1]);
        let object = |length: usize| Response::encoded(StatusCode::OK, MediaType::JSON, body.slice(..length));
        let small = out(object(GZIP_BYTES), true);
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
        assert!(!out(object(GZIP_BYTES + 1), false).headers().contains_key(CONTENT_ENCODING));
        let answer = out(object(GZIP_BYTES + 1), true);
        assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(answer.headers()[VARY], "Accept-Encoding");
        let mut gunzip = Gunzip::new(1 << 20);
        gunzip.push(bytes(answer).await);
        let mut plain = Vec::new();
        while let Some(chunk) = gunzip.next().unwrap() {
            plain.extend_from_slice(&chunk);
        }
        gunzip.finish().unwrap();
        assert_eq!(plain, body);
    }

    #[tokio::test]
    async fn each_flush_of_a_compressed_watch_is_a_member_of_its_own() {
        let (sender, receiver) = futures_channel();
        let answer = out(Response::watch(MediaType::JSON, true, receiver), true);
        assert_eq!(answer.headers()[CONTENT_ENCODING], "gzip");
        let mut body = answer.into_body();
        let mut gunzip = Gunzip::default();
        for flush in [vec!["a\n", "b\n"], vec!["c\n"]] {
            for event in &flush {
                sender.send(Bytes::from_static(event.as_bytes())).unwrap();
            }
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert!(frame.starts_with(&[0x1f, 0x8b]));
            gunzip.push(frame);
            assert_eq!(gunzip.next().unwrap().unwrap(), flush.concat());
            assert_eq!(gunzip.next().unwrap(), None);
        }
        drop(sender);
        assert!(body.frame().await.is_none());
        gunzip.finish().unwrap();
    }

    /// Returns a channel whose receiver is a stream.
    fn futures_channel()
    -> (tokio::sync::mpsc::UnboundedSender<Bytes>, impl Stream<Item = Result<Bytes, BoxError>>) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        (sender, stream::poll_fn(move |context| receiver.poll_recv(context).map(|event| event.map(Ok))))
    }

    #[tokio::test]
    async fn an_error_aborts_a_watch_after_the_events_before_it() {
        for compressed in [false, true] {
            let events = stream::iter([Ok(Bytes::from("a\n")), Err("cut".into())]);
            let mut body = out(Response::watch(MediaType::JSON, compressed, events), true).into_body();
            assert!(body.frame().await.unwrap().is_ok());
            assert_eq!(body.frame().await.unwrap().unwrap_err().to_string(), "cut");
        }
    }

    #[tokio::test]
    async fn a_stream_ends_when_the_server_stops() {
        let stop = CancellationToken::new();
        let ends = Ends { stop: Some(stop.clone()), ..Ends::default() };
        let watch = Response::watch(MediaType::PROTOBUF, false, stream::pending());
        let answer = watch.into_http(HeaderValue::from_static("id"), false, ends);
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/vnd.kubernetes.protobuf;stream=watch");
        let mut body = answer.into_body();
        stop.cancel();
        assert!(body.frame().await.is_none());
    }

    #[test]
    fn warnings_are_quoted_distinct_and_limited() {
        let answer = Response::page_not_found().with_warnings(&["unknown field \"a\\b\"", "x\ny", "x\ny"]);
        let added: Vec<_> = answer.headers.get_all(WARNING).iter().collect();
        assert_eq!(added, ["299 - \"unknown field \\\"a\\\\b\\\"\"", "299 - \"xy\""]);
        let many: Vec<String> = (0..100).map(|n| format!("{n}{}", "x".repeat(300))).collect();
        let answer = Response::page_not_found().with_warnings(&many);
        let added: Vec<_> = answer.headers.get_all(WARNING).iter().collect();
        assert_eq!(added.len(), WARNING_BYTES / LONG_WARNING_BYTES);
    }
}
