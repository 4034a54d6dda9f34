//! Access: authenticates requests, and authorizes reads from the cache.
//!
//! Input: the head of a request.
//! Output: TokenReviews and SubjectAccessReviews to the API server; identities and decisions for the handlers.
//!
//! Invariants:
//! - `access.A1`: a read from the cache is authorized as if it were a read from the API server.
//! - `access.A2`: results of the API server are cached: a valid token for [`VALID_TOKEN_TTL`], an invalid one for
//!   [`INVALID_TOKEN_TTL`], a decision for [`DECISION_TTL`]. Changes take effect here after at most that time.
//! - `access.A3`: the number of cached results and of concurrent reviews is limited.
//! - `access.A4`: tokens are cached as digests, and never shown.

mod authenticator;
mod review;
mod review_cache;
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

pub(crate) use authenticator::{Authenticator, status_response};
pub use review::{
    DECISION_TTL, INVALID_TOKEN_TTL, MAX_CACHED_REVIEWS, MAX_CONCURRENT_REVIEWS, VALID_TOKEN_TTL,
};
pub use token::{COOKIE, cookie};

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identity {
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
pub struct ResourceAttributes<'a> {
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
pub enum AccessError {
    /// The token is missing or invalid.
    #[error("{0}")]
    Unauthenticated(String),
    /// The user may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The review failed: try again.
    #[error("access review failed: {0}")]
    ReviewFailed(String),
}

/// Authentication and authorization through the API server. Clones share the cache.
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
    pub async fn authenticate(&self, token: &Secret) -> Result<Arc<User>, AccessError> {
        self.reviews.authenticate(token).await
    }

    /// Authorizes a read (`access.A1`).
    ///
    /// # Errors
    /// If the user may not do this, or the review failed.
    pub async fn authorize(
        &self,
        identity: &Identity,
        attributes: ResourceAttributes<'_>,
    ) -> Result<(), AccessError> {
        let Identity::User(user) = identity else { return Ok(()) };
        let answer =
            self.reviews.authorize(user, "resourceAttributes", review::attributes(attributes)).await?;
        answer.map_err(|why| AccessError::Forbidden(denial_message(user, attributes, &why)))
    }

    /// Authorizes a read of a non-resource path.
    ///
    /// # Errors
    /// If the user may not do this, or the review failed.
    pub async fn authorize_path(&self, identity: &Identity, path: &str) -> Result<(), AccessError> {
        let Identity::User(user) = identity else { return Ok(()) };
        let what = serde_json::json!({"path": path, "verb": "get"});
        let answer = self.reviews.authorize(user, "nonResourceAttributes", what).await?;
        answer.map_err(|_| AccessError::Forbidden(format!("User {:?} cannot get path {path:?}", user.name)))
    }
}

/// Formats a denial in the API server's wording, with a hint if a list of all namespaces was requested.
fn denial_message(user: &User, attributes: ResourceAttributes<'_>, why: &str) -> String {
    let ResourceAttributes { verb, group, resource, namespace, name } = attributes;
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

impl fmt::Display for ResourceAttributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// Extracts the identity that the [server](crate::listen) has stored in the request.
impl<S: Sync> FromRequestParts<S> for Identity {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Response> {
        let identity = head.extensions.get::<Self>().cloned();
        let unknown =
            || Failure::from(AccessError::Unauthenticated("request is not authenticated".to_owned()));
        identity.ok_or_else(|| unknown().into_response())
    }
}
