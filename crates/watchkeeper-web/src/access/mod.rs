//! Access: who asks, and whether they may read what they ask for.
//!
//! - A1: what is read from the cache is checked as if it were read from the API server.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::request::Parts;

use crate::envelope::Failure;

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Who {
    /// Someone on this machine: the port is open on loopback alone, and they may read what the service may.
    Local,
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

/// Not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

/// Decides who may read what. Clones are cheap.
#[derive(Debug, Clone, Default)]
pub struct Access {}

impl Access {
    /// Whether they may.
    ///
    /// # Errors
    /// If they may not, or nobody could be asked.
    #[allow(clippy::unused_async, reason = "the API server will be asked")]
    pub async fn check(&self, who: &Who, wish: Wish<'_>) -> Result<(), Refused> {
        match who {
            Who::Local => {
                let _ = wish;
                Ok(())
            }
        }
    }
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
        let unknown = || Failure::new(StatusCode::UNAUTHORIZED, "nobody has asked who you are");
        who.ok_or_else(|| unknown().into_response())
    }
}
