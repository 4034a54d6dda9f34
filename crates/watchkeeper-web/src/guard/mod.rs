//! Guard: checks every request before it is handled, and protects every response.
//!
//! Input: the head of a request.
//! Output: admission or an error response.
//!
//! Invariants:
//! - `guard.G1`: a request names this machine or an [allowed](Hosts::allow) host, so that DNS rebinding gives no
//!   access.
//! - `guard.G2`: a page of another origin cannot write or upgrade a connection.
//! - `guard.G3`: no response may be read, framed or loaded as a script by another origin.
//! - `guard.G4`: a query has at most [`QUERY_BYTES`], a body at most [`BODY_BYTES`] and arrives within
//!   [`BODY_TIMEOUT`].

mod headers;
mod host;
mod origin;

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, ORIGIN, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::envelope::Failure;

pub(crate) use headers::{Content, protect};
pub use host::{Authority, Host, Hosts};
pub use origin::Origin;

/// Maximum length of a query, in bytes (`guard.G4`).
pub const QUERY_BYTES: usize = 8 << 10;
/// Maximum length of a body that is not proxied, in bytes (`guard.G4`).
pub const BODY_BYTES: usize = 1 << 20;
/// Time limit for receiving such a body (`guard.G4`).
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The checks that decide which requests are admitted.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Hosts,
    secure: bool,
}

impl Guard {
    /// Creates a guard for a server with these hosts, with or without TLS.
    pub(crate) fn new(hosts: Hosts, secure: bool) -> Self {
        Self { hosts, secure }
    }

    /// Checks the head of a request.
    pub(crate) fn admit(&self, head: &Parts) -> Result<(), Failure> {
        let authority = self.authority(head)?;
        self.check_origin(head, &authority)?;
        if head.uri.query().is_some_and(|query| query.len() > QUERY_BYTES) {
            let message = format!("query exceeds {QUERY_BYTES} bytes");
            return Err(Failure::new(StatusCode::URI_TOO_LONG, message));
        }
        Ok(())
    }

    /// Returns the host that a request is for (`guard.G1`). In HTTP/2, and for absolute targets, that is the authority
    /// of the target; an additional `Host` header is checked as well.
    fn authority(&self, head: &Parts) -> Result<Authority, Failure> {
        let bad = |message: &str| Failure::new(StatusCode::BAD_REQUEST, message);
        let mut named = head.headers.get_all(HOST).iter();
        let header = named.next();
        if named.next().is_some() {
            return Err(bad("more than one Host header"));
        }
        let header = header.map(|value| value.to_str().map_err(|_| bad("invalid Host header")));
        let target = head.uri.authority().map(|authority| Ok(authority.as_str()));
        let mut authority = None;
        for text in target.into_iter().chain(header) {
            let named = Authority::parse(text?).ok_or_else(|| bad("invalid Host header"))?;
            if !self.hosts.contains(&named.host) {
                let message = format!(
                    "host {} is not allowed; to allow it, start the server with --allow-host {0}",
                    named.host
                );
                return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message));
            }
            authority.get_or_insert(named);
        }
        authority.ok_or_else(|| bad("missing Host header"))
    }

    /// Checks the origin of writes and upgrades (`guard.G2`).
    fn check_origin(&self, head: &Parts, authority: &Authority) -> Result<(), Failure> {
        let reads = matches!(head.method, Method::GET | Method::HEAD) && !upgrades(&head.headers);
        let same = |value: &http::HeaderValue| {
            let origin = value.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|origin| origin.is_of(authority, self.secure))
        };
        if reads || head.headers.get_all(ORIGIN).iter().all(same) {
            return Ok(());
        }
        Err(Failure::new(StatusCode::FORBIDDEN, "cross-origin request rejected"))
    }
}

/// Returns whether a request asks for a protocol upgrade.
pub(crate) fn upgrades(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
}

/// Reads a whole body (`guard.G4`).
pub(crate) async fn whole(headers: &HeaderMap, body: Body) -> Result<Bytes, Failure> {
    let too_long = || {
        let message = format!("body exceeds {BODY_BYTES} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if announced(headers).is_some_and(|length| length > BODY_BYTES as u64) {
        return Err(too_long());
    }
    match timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => Err(Failure::new(StatusCode::BAD_REQUEST, "incomplete body")),
        Err(_) => {
            let message = format!("body not received within {} s", BODY_TIMEOUT.as_secs());
            Err(Failure::new(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// Returns the announced length of a body.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
