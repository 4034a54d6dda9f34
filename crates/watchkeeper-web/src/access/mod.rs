//! Access: who asks, and whether they may read what they ask for.
//!
//! From: the head of a request, by the gate before the routes.
//! To:   the API server, which is asked by TokenReview and SubjectAccessReview; and the handlers.
//!
//! - A1: what is read from the cache is checked as if it were read from the API server.
//! - A2: what the API server has said holds for a while: a token that it knows for [`KNOWN_FOR`], one that it does not
//!   know for [`UNKNOWN_FOR`], what somebody may do for [`ALLOWED_FOR`]. That is how long a change there may take to
//!   count here.
//! - A3: how much is remembered, and how much is asked at once, has a limit.
//! - A4: tokens are remembered as digests, and shown nowhere.

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

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// Someone on this machine: the port is open on loopback alone, and they may read what the service may.
    Local,
    /// Someone whose token the API server knows.
    User(Arc<User>),
}

/// Whom the API server knows by a token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The name.
    pub name: String,
    /// The uid; empty for none.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// The attributes.
    pub extra: BTreeMap<String, Vec<String>>,
    /// What they have shown.
    pub(crate) token: Secret,
}

/// What somebody wants to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish<'a> {
    /// `get`, `list` or `watch`.
    pub verb: &'a str,
    /// Of which group; empty for core.
    pub group: &'a str,
    /// Of which resource, in the plural.
    pub resource: &'a str,
    /// In which namespace; empty for all, or where there are none.
    pub namespace: &'a str,
    /// Which object; empty for all.
    pub name: &'a str,
}

/// Not allowed, or not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nobody knows who asks.
    #[error("{0}")]
    Unknown(String),
    /// They may not.
    #[error("{0}")]
    Denied(String),
    /// The API server could not be asked: try again.
    #[error("the API server could not be asked whether you may: {0}")]
    Unanswered(String),
}

/// Decides who may read what. Clones are cheap, and share what is remembered.
#[derive(Debug, Clone)]
pub struct Access {
    reviews: Arc<Reviews>,
}

impl Access {
    /// As this client's server says.
    pub fn new(client: &Client) -> Self {
        Self { reviews: Arc::new(Reviews::new(client.transport().clone())) }
    }

    /// Whose a token is.
    ///
    /// # Errors
    /// If the API server does not know it, or could not be asked.
    pub async fn whose(&self, token: &Secret) -> Result<Arc<User>, Refused> {
        self.reviews.whose(token).await
    }

    /// Whether they may (A1).
    ///
    /// # Errors
    /// If they may not, or nobody could be asked.
    pub async fn check(&self, who: &Who, wish: Wish<'_>) -> Result<(), Refused> {
        let Who::User(user) = who else { return Ok(()) };
        let answer = self.reviews.may(user, "resourceAttributes", review::attributes(wish)).await?;
        answer.map_err(|why| Refused::Denied(denial(user, wish, &why)))
    }

    /// Whether they may read a path that has no objects.
    ///
    /// # Errors
    /// If they may not, or nobody could be asked.
    pub async fn check_path(&self, who: &Who, path: &str) -> Result<(), Refused> {
        let Who::User(user) = who else { return Ok(()) };
        let what = serde_json::json!({"path": path, "verb": "get"});
        let answer = self.reviews.may(user, "nonResourceAttributes", what).await?;
        answer.map_err(|_| Refused::Denied(format!("User {:?} cannot get path {path:?}", user.name)))
    }
}

/// As the API server would say it; and what to do, where a whole list was asked for.
fn denial(user: &User, wish: Wish<'_>, why: &str) -> String {
    let Wish { verb, group, resource, namespace, name } = wish;
    let named = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let place = match namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    let shown = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let hint = match namespace.is_empty() && name.is_empty() {
        true => format!("; if {resource} are in namespaces, name one that you may read (namespace=...)"),
        false => String::new(),
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

/// A handler gets who asks from the [server](crate::listen), which has found out; elsewhere nobody is known.
impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Self, Response> {
        let who = head.extensions.get::<Self>().cloned();
        let unknown = || Failure::from(Refused::Unknown("nobody has asked who you are".to_owned()));
        who.ok_or_else(|| unknown().into_response())
    }
}
