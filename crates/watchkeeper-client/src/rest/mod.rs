//! REST: requests for resources, with retries, rate limits and decoded responses.
//!
//! Input: callers of an API server.
//! Output: the [transport](crate::transport).
//!
//! Invariants:
//! - `rest.R1`: an invalid request is rejected before anything is sent, with the builder's first mistake.
//! - `rest.R2`: a request is retried only if client-go would retry it: the server responds with `Retry-After` (429,
//!   5xx), or the connection of a GET is lost. At most [`RetryPolicy::max_retries`] times, and never after a wait longer than
//!   [`MAX_RETRY_AFTER`].
//! - `rest.R3`: a streaming body is sent once.
//! - `rest.R4`: every error names the request.
//! - `rest.R5`: dropping a request cancels it.
//! - `rest.R6`: a response that is read whole has at most
//!   [`Config::max_response_bytes`](crate::Config::max_response_bytes) bytes, compressed and decompressed, and not many
//!   more values than a response of its size can need.

mod call;
mod content;
mod error;
mod observe;
mod path;
mod rate_limiter;
mod request;
mod response;
mod retry;
mod send;
mod warning;

use std::sync::Arc;

use http::Method;
use watchkeeper_core::GroupVersion;

use crate::Transport;

pub(crate) use content::encoding_of;
pub use content::{Content, Shape};
pub use error::{InvalidRequest, RequestError};
pub use observe::{WrittenObject, observe_writes};
pub use rate_limiter::RateLimiter;
pub use request::{PatchKind, Request};
pub use response::Response;
pub use retry::{MAX_RETRY_AFTER, RetryPolicy};
pub(crate) use send::Receive;
pub use warning::{NoWarnings, WarnOnce, Warning, WarningHandler};

/// A client for requests below one path of an API server, in one encoding. Clones are cheap. (client-go:
/// `rest.RESTClient`.)
#[derive(Clone, Debug)]
pub struct RestClient {
    transport: Transport,
    path: Arc<str>,
    content: Arc<Content>,
    limiter: Option<Arc<RateLimiter>>,
    warnings: Arc<dyn WarningHandler>,
    retry_policy: RetryPolicy,
}

impl RestClient {
    /// Creates a client for requests below a path: `/api/v1`, `/apis/apps/v1`, or `/` for the whole server.
    pub fn new(transport: Transport, path: &str, content: Content) -> Self {
        Self {
            transport,
            path: path.trim_end_matches('/').into(),
            content: Arc::new(content),
            limiter: None,
            warnings: Arc::new(WarnOnce::default()),
            retry_policy: RetryPolicy::default(),
        }
    }

    /// Creates a client for a group version: `/api/v1` for the core group, `/apis/...` for the others.
    pub fn for_group_version(transport: Transport, group_version: &GroupVersion, content: Content) -> Self {
        let path = if group_version.group.is_empty() {
            format!("/api/{}", group_version.version)
        } else {
            format!("/apis/{}/{}", group_version.group, group_version.version)
        };
        Self::new(transport, &path, content)
    }

    /// Sets the encoding of objects.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = Arc::new(content);
        self
    }

    /// Sets the rate limiter; none by default.
    #[must_use]
    pub fn rate_limiter(mut self, limiter: Arc<RateLimiter>) -> Self {
        self.limiter = Some(limiter);
        self
    }

    /// Sets the handler for the server's warnings. By default each text is logged once.
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn WarningHandler>) -> Self {
        self.warnings = warnings;
        self
    }

    /// Sets the default retry policy.
    #[must_use]
    pub fn retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.retry_policy = policy;
        self
    }

    /// Returns the transport.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Creates a request with this method.
    pub fn request(&self, method: Method) -> Request {
        Request::new(self.clone(), method)
    }

    /// Creates a GET request.
    pub fn get(&self) -> Request {
        self.request(Method::GET)
    }

    /// Creates a POST request.
    pub fn post(&self) -> Request {
        self.request(Method::POST)
    }

    /// Creates a PUT request.
    pub fn put(&self) -> Request {
        self.request(Method::PUT)
    }

    /// Creates a DELETE request.
    pub fn delete(&self) -> Request {
        self.request(Method::DELETE)
    }

    /// Creates a PATCH request.
    pub fn patch(&self, kind: PatchKind) -> Request {
        self.request(Method::PATCH).header(http::header::CONTENT_TYPE, kind.media_type())
    }
}
