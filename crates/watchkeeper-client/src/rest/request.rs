//! Request builder. Sending is in `send`.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Serialize;
use watchkeeper_core::{FieldSelector, GroupResource, LabelSelector};

use super::content::Shape;
use super::path::{self, Parts};
use super::retry::RetryPolicy;
use super::{InvalidRequest, RequestError, RestClient};
use crate::transport::Body;

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// JSON patch: a list of operations (RFC 6902).
    Json,
    /// JSON merge patch: fields to set, and nulls for fields to remove (RFC 7396).
    Merge,
    /// Strategic merge patch, which knows the keys of lists; for built-in kinds only.
    Strategic,
    /// Server-side apply: all fields that a manager wants to own.
    Apply,
}

impl PatchKind {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// A request under construction. Nothing is sent before [`send`](Self::send), [`raw`](Self::raw),
/// [`stream`](Self::stream), [`open_watch`](Self::open_watch) or [`upgrade`](Self::upgrade).
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    pub(super) client: RestClient,
    pub(super) method: Method,
    pub(super) parts: Parts,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) body: Payload,
    pub(super) shape: Shape,
    pub(super) timeout: Option<Duration>,
    pub(super) max_response_bytes: u64,
    pub(super) retry_policy: RetryPolicy,
    /// The first mistake of the builder (`rest.R1`).
    mistake: Option<InvalidRequest>,
}

#[derive(Debug)]
pub(super) enum Payload {
    None,
    Bytes(Bytes),
    /// An object, sent in the client's encoding.
    Object {
        json: Bytes,
    },
    Stream(Option<Body>),
}

impl Request {
    pub(super) fn new(client: RestClient, method: Method) -> Self {
        let (retry_policy, max_response_bytes) =
            (client.retry_policy, client.transport().max_response_bytes());
        Self {
            client,
            method,
            parts: Parts::default(),
            query: Vec::new(),
            headers: HeaderMap::new(),
            body: Payload::None,
            shape: Shape::Whole,
            timeout: None,
            max_response_bytes,
            retry_policy,
            mistake: None,
        }
    }

    /// Sets the namespace; empty means all namespaces.
    pub fn namespace(self, namespace: &str) -> Self {
        self.part(|parts| path::set(&mut parts.namespace, "namespace", namespace))
    }

    /// Sets the resource: `pods`.
    pub fn resource(self, resource: &str) -> Self {
        self.part(|parts| path::set(&mut parts.resource, "resource", resource))
    }

    /// Sets the name of the object.
    pub fn name(self, name: &str) -> Self {
        self.part(|parts| {
            if name.is_empty() {
                let why = "may not be empty";
                return Err(InvalidRequest::Segment { part: "name", value: String::new(), why });
            }
            path::set(&mut parts.name, "name", name)
        })
    }

    /// Sets the subresource: `status`, `scale`, `log`, ...
    pub fn subresource(self, subresource: &str) -> Self {
        self.part(|parts| path::set(&mut parts.subresource, "subresource", subresource))
    }

    /// Appends a segment after all other parts.
    pub fn suffix(self, suffix: &str) -> Self {
        self.part(|parts| {
            path::check("suffix", suffix)?;
            parts.suffix.push(suffix.to_owned());
            Ok(())
        })
    }

    /// Replaces the client's path: `/version`.
    pub fn abs_path(self, path: &str) -> Self {
        self.part(|parts| {
            if !path.starts_with('/') || path.contains(['?', '#', ' ']) {
                return Err(InvalidRequest::Path { path: path.to_owned() });
            }
            parts.absolute = Some(path.to_owned());
            Ok(())
        })
    }

    /// Adds a query parameter. Existing parameters of the same name are kept.
    pub fn param(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    /// Adds query parameters.
    pub fn params<N: Into<String>, V: Into<String>>(
        mut self,
        params: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.query.extend(params.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Restricts the request to objects that match. Empty selectors are not sent.
    pub fn selecting(self, labels: &LabelSelector, fields: &FieldSelector) -> Self {
        let selectors = [("labelSelector", labels.to_string()), ("fieldSelector", fields.to_string())];
        self.params(selectors.into_iter().filter(|(_, text)| !text.is_empty()))
    }

    /// Sets the part of the objects to request.
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Sets a header, replacing any of the same name.
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        match HeaderValue::from_str(value) {
            Ok(value) => {
                self.headers.insert(name, value);
            }
            Err(_) => self.record_mistake(InvalidRequest::Header { name: name.to_string() }),
        }
        self
    }

    /// Sets the body. The caller sets its `Content-Type`.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Payload::Bytes(body.into());
        self
    }

    /// Sets an object as the body.
    pub fn object(mut self, object: &impl Serialize) -> Self {
        match serde_json::to_vec(object) {
            Ok(json) => self.body = Payload::Object { json: json.into() },
            Err(error) => self.record_mistake(InvalidRequest::Body { why: error.to_string() }),
        }
        self
    }

    /// Sets an object that is already JSON as the body.
    pub(crate) fn json_object(mut self, json: Bytes) -> Self {
        self.body = Payload::Object { json };
        self
    }

    /// Sets a body that can be read only once. The request is not retried (`rest.R3`).
    pub fn body_stream(mut self, body: Body) -> Self {
        self.body = Payload::Stream(Some(body));
        self
    }

    /// Sets the time limit for all attempts together, including the response body but not the wait for the rate limiter
    /// before the first attempt. It is also sent to the server. Watches and streams are not cut off by it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits the response to this many bytes, both compressed and decompressed, instead of
    /// [`Config::max_response_bytes`](crate::Config::max_response_bytes). Watches and streams are not limited.
    pub fn max_response_bytes(mut self, bytes: u64) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the retry policy of this request.
    pub fn retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.retry_policy = policy;
        self
    }

    /// Returns method and path, for errors and logs.
    pub fn description(&self) -> String {
        format!("{} {}", self.method, self.parts.path(&self.client.path))
    }

    /// Returns path and query with placeholders for names and values, for metrics and traces.
    pub fn template(&self) -> String {
        let mut template = self.parts.template(&self.client.path);
        let mut names: Vec<&str> = self.query.iter().map(|(name, _)| name.as_str()).collect();
        names.extend(self.timeout.map(|_| "timeout"));
        names.sort_unstable();
        names.dedup();
        for (position, name) in names.into_iter().enumerate() {
            template.push(if position == 0 { '?' } else { '&' });
            path::push_escaped(&mut template, name);
            template.push_str("={value}");
        }
        template
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.query.iter().any(|(name, _)| name == "dryRun")
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
            self.record_mistake(mistake);
        }
        self
    }

    fn record_mistake(&mut self, mistake: InvalidRequest) {
        self.mistake.get_or_insert(mistake);
    }

    pub(super) fn invalid(&self, source: InvalidRequest) -> RequestError {
        RequestError::Invalid { request: self.description(), source }
    }

    /// Checks the parts (`rest.R1`).
    pub(super) fn check_parts(&mut self) -> Result<(), RequestError> {
        match self.mistake.take() {
            Some(mistake) => Err(self.invalid(mistake)),
            None => Ok(()),
        }
    }

    /// Checks the request (`rest.R1`).
    pub(super) fn check(&mut self) -> Result<(), RequestError> {
        self.check_parts()?;
        let is_single = self.method == Method::POST
            || (self.parts.name.is_some()
                && [Method::GET, Method::PUT, Method::DELETE].contains(&self.method));
        match self.parts.namespace.as_deref() {
            Some("") if is_single => Err(self.invalid(InvalidRequest::EmptyNamespace)),
            _ => Ok(()),
        }
    }

    /// Returns path and query as sent.
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
}
