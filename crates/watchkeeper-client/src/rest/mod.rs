//! REST: requests for resources, built step by step, sent politely, and answered with objects or a
//! [`Status`](watchkeeper_core::Status).
//!
//! From: whoever wants something of an API server.
//! To:   the [transport](crate::transport).
//!
//! - R1: what cannot be a path is refused before anything is sent: the first mistake of a builder counts.
//! - R2: a request is tried again only where client-go would: the server asks for it with `Retry-After`
//!   (429, 5xx), or the connection of a GET was lost. Never more than [`Retries::times`], and never after a longer
//!   wait than [`MAX_RETRY_AFTER`].
//! - R3: a body that is a stream is sent once.
//! - R4: every error names the request.
//! - R5: dropping a request cancels it.
//! - R6: an answer that is read as a whole has at most
//!   [`Config::max_response_bytes`](crate::Config::max_response_bytes) bytes, compressed and decompressed, and not
//!   many more values than an answer of its size can need.

mod answer;
mod call;
mod content;
mod error;
mod limiter;
mod path;
mod request;
mod retry;
mod send;
mod warning;

use std::sync::Arc;

use http::Method;
use watchkeeper_core::GroupVersion;

use crate::Transport;

pub use answer::Answer;
pub use content::{Content, MediaType, Shape};
pub use error::{InvalidRequest, RequestError};
pub use limiter::Limiter;
pub use request::{PatchKind, Request};
pub use retry::{Backoff, MAX_RETRY_AFTER, Retries};
pub(crate) use send::Receive;
pub use warning::{NoWarnings, WarnOnce, Warning, Warnings};

/// Requests below one path of an API server, in one encoding. Clones are cheap.
#[derive(Clone, Debug)]
pub struct RestClient {
    transport: Transport,
    path: Arc<str>,
    content: Arc<Content>,
    limiter: Option<Arc<Limiter>>,
    warnings: Arc<dyn Warnings>,
    retries: Retries,
}

impl RestClient {
    /// Requests below a path: `/api/v1`, `/apis/apps/v1`, or `/` for all of it.
    pub fn new(transport: Transport, path: &str, content: Content) -> Self {
        Self {
            transport,
            path: path.trim_end_matches('/').into(),
            content: Arc::new(content),
            limiter: None,
            warnings: Arc::new(WarnOnce::default()),
            retries: Retries::default(),
        }
    }

    /// Requests of a group and version: `/api/v1` for the core group, `/apis/...` for the others.
    pub fn of(transport: Transport, group_version: &GroupVersion, content: Content) -> Self {
        let path = match group_version.group.is_empty() {
            true => format!("/api/{}", group_version.version),
            false => format!("/apis/{}/{}", group_version.group, group_version.version),
        };
        Self::new(transport, &path, content)
    }

    /// Asks for and sends objects in this encoding from here on.
    #[must_use]
    pub fn content(mut self, content: Content) -> Self {
        self.content = Arc::new(content);
        self
    }

    /// Sends no more requests than this limiter lets through. There is none by default.
    #[must_use]
    pub fn limited_by(mut self, limiter: Arc<Limiter>) -> Self {
        self.limiter = Some(limiter);
        self
    }

    /// Who hears of the server's warnings. By default each is logged once.
    #[must_use]
    pub fn warnings(mut self, warnings: Arc<dyn Warnings>) -> Self {
        self.warnings = warnings;
        self
    }

    /// How requests are tried again that do not say so themselves.
    #[must_use]
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// The way to the server.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// A request of this method.
    pub fn request(&self, method: Method) -> Request {
        Request::new(self.clone(), method)
    }

    /// GET: an object, or a list of them.
    pub fn get(&self) -> Request {
        self.request(Method::GET)
    }

    /// POST: a new object.
    pub fn post(&self) -> Request {
        self.request(Method::POST)
    }

    /// PUT: an object as it shall be.
    pub fn put(&self) -> Request {
        self.request(Method::PUT)
    }

    /// DELETE: an object, or all that are selected.
    pub fn delete(&self) -> Request {
        self.request(Method::DELETE)
    }

    /// PATCH: what shall change of an object.
    pub fn patch(&self, kind: PatchKind) -> Request {
        self.request(Method::PATCH).header(http::header::CONTENT_TYPE, kind.media_type())
    }
}
