//! Request: built step by step, and sent.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde::Serialize;
use watchkeeper_core::{FieldSelector, GroupResource, LabelSelector};

use super::answer::{Answer, refusal};
use super::content::{MediaType, Shape};
use super::path::{self, Parts};
use super::retry::{Attempt, Retries, Use, again};
use super::{InvalidRequest, RequestError, RestClient, warning};
use crate::transport::{Body, TransportError};

/// How much of a refusal's body is read.
const REFUSAL_BYTES: usize = 1 << 20;

/// What a patch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// A list of operations (RFC 6902).
    Json,
    /// Fields to set, and nulls for fields to remove (RFC 7396).
    Merge,
    /// A merge that knows the keys of lists; only for kinds that are built in.
    Strategic,
    /// All that a manager wants; the server remembers whose it is.
    Apply,
}

impl PatchKind {
    /// The word for it in headers.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// A request that is being built. Nothing is sent before [`send`](Self::send),
/// [`stream`](Self::stream) or [`open_watch`](Self::open_watch).
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    client: RestClient,
    method: Method,
    parts: Parts,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Payload,
    shape: Shape,
    timeout: Option<Duration>,
    retries: Retries,
    /// The first mistake (R1).
    mistake: Option<InvalidRequest>,
}

#[derive(Debug)]
enum Payload {
    None,
    Bytes(Bytes),
    /// An object, which is sent in the encoding of the client.
    Object {
        json: Bytes,
    },
    Stream(Option<Body>),
}

impl Request {
    pub(super) fn new(client: RestClient, method: Method) -> Self {
        let retries = client.retries;
        Self {
            client,
            method,
            parts: Parts::default(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Payload::None,
            shape: Shape::Whole,
            timeout: None,
            retries,
            mistake: None,
        }
    }

    /// The namespace; an empty one stands for all of them.
    pub fn namespace(self, namespace: &str) -> Self {
        self.part(|parts| path::set(&mut parts.namespace, "namespace", namespace))
    }

    /// The resource: `pods`.
    pub fn resource(self, resource: &str) -> Self {
        self.part(|parts| path::set(&mut parts.resource, "resource", resource))
    }

    /// The name of the object.
    pub fn name(self, name: &str) -> Self {
        self.part(|parts| match name.is_empty() {
            true => {
                let why = "is empty";
                Err(InvalidRequest::Segment { part: "name", value: String::new(), why })
            }
            false => path::set(&mut parts.name, "name", name),
        })
    }

    /// The subresource: `status`, `scale`, `log`, ...
    pub fn subresource(self, subresource: &str) -> Self {
        self.part(|parts| path::set(&mut parts.subresource, "subresource", subresource))
    }

    /// What comes after all other parts.
    pub fn suffix(self, suffix: &str) -> Self {
        self.part(|parts| {
            path::check("suffix", suffix)?;
            parts.suffix.push(suffix.to_owned());
            Ok(())
        })
    }

    /// Another path in place of the client's: `/version`.
    pub fn abs_path(self, path: &str) -> Self {
        self.part(|parts| match path.starts_with('/') && !path.contains(['?', '#', ' ']) {
            true => {
                parts.absolute = Some(path.to_owned());
                Ok(())
            }
            false => Err(InvalidRequest::Path { path: path.to_owned() }),
        })
    }

    /// A parameter of the query. One that is there already is there twice then.
    pub fn param(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    /// Parameters of the query.
    pub fn params<N: Into<String>, V: Into<String>>(
        mut self,
        params: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.query.extend(params.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Only objects with such labels and fields. Selectors that select everything are not sent.
    pub fn selecting(self, labels: &LabelSelector, fields: &FieldSelector) -> Self {
        let selectors = [("labelSelector", labels.to_string()), ("fieldSelector", fields.to_string())];
        self.params(selectors.into_iter().filter(|(_, text)| !text.is_empty()))
    }

    /// How much of the objects is asked for.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// A header, in place of those of this name.
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => {
                self.headers.insert(name, value);
            }
            Err(_) => self.blame(InvalidRequest::Header { name: name.to_string() }),
        }
        self
    }

    /// A body as it is. Its `Content-Type` is the caller's to say.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Payload::Bytes(body.into());
        self
    }

    /// An object for a body.
    pub fn object(mut self, object: &impl Serialize) -> Self {
        match serde_json::to_vec(object) {
            Ok(json) => self.body = Payload::Object { json: json.into() },
            Err(error) => self.blame(InvalidRequest::Body { why: error.to_string() }),
        }
        self
    }

    /// An object that is JSON already for a body.
    pub(crate) fn written_object(mut self, json: Bytes) -> Self {
        self.body = Payload::Object { json };
        self
    }

    /// A body that is had only once: the request is not tried again (R3).
    pub fn body_stream(mut self, body: Body) -> Self {
        self.body = Payload::Stream(Some(body));
        self
    }

    /// How long all attempts together may take, the answer's body included. The server is told, too.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How this request is tried again, in place of what the client says.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// Sends the request and reads the answer. Dropped half-way, it is cancelled (R5).
    ///
    /// To a request with `If-None-Match` 304 is an answer, and not a refusal.
    ///
    /// # Errors
    /// If it was not sent, or not answered, or refused.
    pub async fn send(mut self) -> Result<Answer, RequestError> {
        self.check()?;
        let (timeout, request) = (self.timeout, self.description());
        let exchange = async {
            let answer = self.attempt(Use::Exchange).await?;
            let (head, body) = answer.into_parts();
            let body = body.bytes().await;
            let body = body.map_err(|source| RequestError::Body { request: self.description(), source })?;
            Ok(Answer::new(head.status, head.headers, body, self.description()))
        };
        match timeout {
            None => exchange.await,
            Some(after) => match tokio::time::timeout(after, exchange).await {
                Ok(outcome) => outcome,
                Err(_) => Err(RequestError::TimedOut { request, after }),
            },
        }
    }

    /// Sends the request and returns the body of the answer as it comes: for logs and long lists.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn stream(mut self) -> Result<http::Response<Body>, RequestError> {
        self.check()?;
        self.attempt(Use::Stream).await
    }

    /// Sends a request for a watch. It is tried again where the connection was lost before it was answered.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn open_watch(mut self) -> Result<http::Response<Body>, RequestError> {
        if let Some(mistake) = self.mistake.take() {
            return Err(self.invalid(mistake));
        }
        self.attempt(Use::Watch).await
    }

    /// Method and path, for errors and logs.
    pub fn description(&self) -> String {
        format!("{} {}", self.method, self.parts.path(&self.client.path))
    }

    /// The path with placeholders for names: for metrics.
    pub fn template(&self) -> String {
        self.parts.template(&self.client.path)
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn name_or_empty(&self) -> &str {
        self.parts.name.as_deref().unwrap_or_default()
    }

    pub(super) fn group_resource(&self) -> Option<GroupResource> {
        let mut path = self.client.path.trim_start_matches('/').split('/');
        let group = match path.next() {
            Some("apis") => path.next().unwrap_or_default(),
            _ => "",
        };
        let resource = self.parts.resource.clone()?;
        Some(GroupResource { group: group.to_owned(), resource })
    }

    fn part(mut self, set: impl FnOnce(&mut Parts) -> Result<(), InvalidRequest>) -> Self {
        if self.mistake.is_none()
            && let Err(mistake) = set(&mut self.parts)
        {
            self.blame(mistake);
        }
        self
    }

    fn blame(&mut self, mistake: InvalidRequest) {
        self.mistake.get_or_insert(mistake);
    }

    fn invalid(&self, source: InvalidRequest) -> RequestError {
        RequestError::Invalid { request: self.description(), source }
    }

    fn check(&mut self) -> Result<(), RequestError> {
        if let Some(mistake) = self.mistake.take() {
            return Err(self.invalid(mistake));
        }
        let is_one = self.method == Method::POST
            || (self.parts.name.is_some()
                && [Method::GET, Method::PUT, Method::DELETE].contains(&self.method));
        match self.parts.namespace.as_deref() {
            Some("") if is_one => Err(self.invalid(InvalidRequest::EmptyNamespace)),
            _ => Ok(()),
        }
    }

    /// Sends the request until it is answered, as often as is proper (R2).
    async fn attempt(&mut self, used_for: Use) -> Result<http::Response<Body>, RequestError> {
        let mut number = 0;
        loop {
            if let Some(limiter) = &self.client.limiter
                && (number > 0 || used_for != Use::Watch)
            {
                limiter.wait().await;
            }
            let media_type = self.client.content.current();
            let request = self.build(media_type)?;
            let sent = self.client.transport.send(request).await;
            let wait = match &sent {
                _ if matches!(self.body, Payload::Stream(_)) => None,
                Ok(answer) => {
                    let attempt = Attempt::Answered(answer.status(), answer.headers());
                    again(&attempt, number, &self.retries, &self.method, used_for)
                }
                Err(error) => again(&Attempt::Failed(error), number, &self.retries, &self.method, used_for),
            };
            if let Some(wait) = wait {
                number += 1;
                tracing::debug!(request = %self.description(), number, ?wait, "a request is tried again");
                drop(sent);
                tokio::time::sleep(wait).await;
                continue;
            }
            let answer = sent.map_err(|source: TransportError| RequestError::Transport {
                request: self.description(),
                source,
            })?;
            for warning in warning::of(answer.headers()) {
                self.client.warnings.warn(&warning);
            }
            let code = answer.status();
            let is_known = code == StatusCode::NOT_MODIFIED && self.headers.contains_key(IF_NONE_MATCH);
            if code.is_success() || is_known {
                return Ok(answer);
            }
            let is_foreign = matches!(code, StatusCode::NOT_ACCEPTABLE | StatusCode::UNSUPPORTED_MEDIA_TYPE);
            if is_foreign
                && media_type != MediaType::Json
                && self.speaks_own_encoding()
                && self.client.content.refuse()
            {
                continue; // in JSON, from now on
            }
            return Err(self.refused(answer).await);
        }
    }

    /// Whether the encoding is the client's choice, and not the caller's.
    fn speaks_own_encoding(&self) -> bool {
        !self.headers.contains_key(ACCEPT) && !matches!(self.body, Payload::Stream(_))
    }

    async fn refused(&mut self, answer: http::Response<Body>) -> RequestError {
        let (head, mut body) = answer.into_parts();
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = body.chunk().await {
            text.extend_from_slice(&chunk);
            if text.len() > REFUSAL_BYTES {
                break; // what is so long is no Status
            }
        }
        let status = refusal(self, head.status, &head.headers, &text);
        RequestError::Refused { request: self.description(), status: Box::new(status) }
    }

    /// The path and the query as they are sent.
    pub(crate) fn path_and_query(&self) -> String {
        let mut uri = self.parts.path(&self.client.path);
        let mut query: Vec<(&str, String)> =
            self.query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        if let Some(timeout) = self.timeout {
            query.retain(|(name, _)| *name != "timeout");
            query.push(("timeout", format!("{}s", timeout.as_secs_f64())));
        }
        query.sort_by_key(|(name, _)| *name);
        for (position, (name, value)) in query.iter().enumerate() {
            uri.push(if position == 0 { '?' } else { '&' });
            path::push_escaped(&mut uri, name);
            uri.push('=');
            path::push_escaped(&mut uri, value);
        }
        uri
    }

    fn build(&mut self, media_type: MediaType) -> Result<http::Request<Body>, RequestError> {
        let uri = self.path_and_query();
        let uri: http::Uri = match uri.parse() {
            Ok(uri) => uri,
            Err(_) => return Err(self.invalid(InvalidRequest::Path { path: uri })),
        };
        let mut headers = self.headers.clone();
        headers
            .entry(ACCEPT)
            .or_insert_with(|| HeaderValue::from_static(self.client.content.accept(self.shape)));
        let body = match &mut self.body {
            Payload::None => Body::empty(),
            Payload::Bytes(bytes) => Body::from(bytes.clone()),
            Payload::Object { json } => {
                let (bytes, media_type) = encoded(json, media_type);
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(media_type.as_str()));
                Body::from(bytes)
            }
            Payload::Stream(body) => body.take().unwrap_or_else(Body::empty),
        };
        let mut request = http::Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// An object in protobuf where its kind is built in and the client speaks it; in JSON otherwise.
fn encoded(json: &Bytes, media_type: MediaType) -> (Bytes, MediaType) {
    use watchkeeper_core::{Encoded, GroupVersion};
    use watchkeeper_wire::{Kind, json::read_type, protobuf::wrap, transcode};
    let in_protobuf = || {
        let (api_version, kind) = read_type(json).ok()?;
        let version: GroupVersion = api_version.parse().ok()?;
        let known = Kind::new(&version.group, &version.version, &kind);
        known.message()?;
        let message = transcode::to_protobuf(&Encoded::json(json.to_vec()), &known).ok()?;
        Some(Bytes::from(wrap(&api_version, &kind, &message)))
    };
    match media_type {
        MediaType::Protobuf => match in_protobuf() {
            Some(bytes) => (bytes, MediaType::Protobuf),
            None => (json.clone(), MediaType::Json),
        },
        MediaType::Json => (json.clone(), MediaType::Json),
    }
}
