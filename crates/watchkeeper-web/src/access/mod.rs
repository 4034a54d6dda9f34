//! Access: authenticates requests, and authorizes reads from the cache.
//!
//! Input: the head of a request.
//! Output: TokenReviews and SubjectAccessReviews to the API server; identities and decisions for the handlers.
//!
//! Invariants:
//! - `access.A1`: a read from the cache is authorized as if it were a read from the API server.
//! - `access.A2`: results of the API server are cached: a valid token for [`KNOWN_FOR`], an invalid one for
//!   [`UNKNOWN_FOR`], a decision for [`ALLOWED_FOR`]. Changes take effect here after at most that time.
//! - `access.A3`: the number of cached results and of concurrent reviews is limited.
//! - `access.A4`: tokens are cached as digests, and never shown.

mod gate;
mod recent;
mod review;
mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use watchkeeper_client::{Client, Secret};

use crate::envelope::Failure;
use review::Reviews;

pub(crate) use gate::{Gate, status_response};
pub use review::{ALLOWED_FOR, KNOWN_FOR, REMEMBERED, REVIEWS_AT_ONCE, UNKNOWN_FOR};
pub use token::{COOKIE, cookie};

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// A user of this machine, on a server that only listens on loopback; may read what the service may.
    Local,
    /// A user authenticated by the API server.
    User(Arc<User>),
}

/// A user authenticated by a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// Name.
    pub name: String,
    /// UID; may be empty.
    pub uid: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
    /// The token.
    pub(crate) token: Secret,
}

/// The attributes of a read that is to be authorized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish<'a> {
    /// `get`, `list` or `watch`.
    pub verb: &'a str,
    /// API group; empty for core.
    pub group: &'a str,
    /// Resource, in the plural.
    pub resource: &'a str,
    /// Namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: &'a str,
    /// Object name; empty for all objects.
    pub name: &'a str,
}

/// An authentication or authorization failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The token is missing or invalid.
    #[error("{0}")]
    Unknown(String),
    /// The user may not do this.
    #[error("{0}")]
    Denied(String),
    /// The review failed: try again.
    #[error("access review failed: {0}")]
    Unanswered(String),
}

/// Authenticates and authorizes through the API server. Clones share the cache.
#[derive(Debug, Clone)]
pub struct Access {
    reviews: Arc<Reviews>,
}

impl Access {
    /// Creates an instance that sends reviews with a client.
    pub fn new(client: &Client) -> Self {
        Self { reviews: Arc::new(Reviews::new(client.transport().clone())) }
    }

    /// Authenticates a token.
    ///
    /// # Errors
    /// If the token is invalid, or the review failed.
    pub async fn whose(&self, token: &Secret) -> Result<Arc<User>, Refused> {
        self.reviews.whose(token).await
    }

    /// Authorizes a read (`access.A1`).
    ///
    /// # Errors
    /// If the user may not do this, or the review failed.
    pub async fn check(&self, who: &Who, wish: Wish<'_>) -> Result<(), Refused> {
        let Who::User(user) = who else { return Ok(()) };
        let answer = self.reviews.may(user, "resourceAttributes", review::attributes(wish)).await?;
        answer.map_err(|why| Refused::Denied(denial(user, wish, &why)))
    }

    /// Authorizes a read of a non-resource path.
    ///
    /// # Errors
    /// If the user may not do this, or the review failed.
    pub async fn check_path(&self, who: &Who, path: &str) -> Result<(), Refused> {
        let Who::User(user) = who else { return Ok(()) };
        let what = serde_json::json!({"path": path, "verb": "get"});
        let answer = self.reviews.may(user, "nonResourceAttributes", what).await?;
        answer.map_err(|_| Refused::Denied(format!("User {:?} cannot get path {path:?}", user.name)))
    }
}

/// Formats a denial in the API server's wording, with a hint if a list of all namespaces was requested.
fn denial(user: &User, wish: Wish<'_>, why: &str) -> String {
    let Wish { verb, group, resource, namespace, name } = wish;
    let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let place = match namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let shown = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let hint = if namespace.is_empty() && name.is_empty() {
        format!("; if {resource} are namespaced, choose a namespace that you may read (namespace=...)")
    } else {
        String::new()
    };
    let user = &user.name;
    format!(
        "{shown}{named} is forbidden: User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {place}{why}{hint}"
    )
}

impl fmt::Display for Wish<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// Extracts the identity that the [server](crate::listen) has stored in the request.
impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Response> {
        let who = head.extensions.get::<Self>().cloned();
        let unknown = || Failure::from(Refused::Unknown("request is not authenticated".to_owned()));
        who.ok_or_else(|| unknown().into_response())
    }
}
