//! Guard: what every request passes before anything is done for it, and every answer before it leaves.
//!
//! From: a connection.
//! To:   the routes, for those that may pass.
//!
//! - G1: a request names a host that is this machine, or one that was [allowed](Hosts::allow): a page that has had its
//!   own name resolve to this machine cannot read anything here.
//! - G2: a page of another origin can have nothing written, and no connection upgraded.
//! - G3: no answer allows another origin to read it, to frame it, or to have it taken for a script.
//! - G4: a query is at most [`QUERY_BYTES`] long, a body [`BODY_BYTES`], and has come within [`BODY_PATIENCE`].

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
pub use host::{Host, Hosts, Place};
pub use origin::Origin;

/// The longest query (G4).
pub const QUERY_BYTES: usize = 8 << 10;
/// The longest body that is not for the API server (G4).
pub const BODY_BYTES: usize = 1 << 20;
/// How long such a body may take to come (G4).
pub const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// Decides which requests pass.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Hosts,
    secure: bool,
}

impl Guard {
    /// For a server of these names, with or without TLS.
    pub(crate) fn new(hosts: Hosts, secure: bool) -> Self {
        Self { hosts, secure }
    }

    /// Whether a request may pass, as far as its head says.
    pub(crate) fn admit(&self, head: &Parts) -> Result<(), Failure> {
        let place = self.place(head)?;
        self.check_origin(head, &place)?;
        if head.uri.query().is_some_and(|query| query.len() > QUERY_BYTES) {
            let message = format!("the query is longer than {QUERY_BYTES} bytes");
            return Err(Failure::new(StatusCode::URI_TOO_LONG, message));
        }
        Ok(())
    }

    /// The host that a request is for (G1). In HTTP/2, or where the target is a whole URI, that is the authority of
    /// the target; a `Host` besides must be right as well.
    fn place(&self, head: &Parts) -> Result<Place, Failure> {
        let bad = |message: &str| Failure::new(StatusCode::BAD_REQUEST, message);
        let mut named = head.headers.get_all(HOST).iter();
        let header = named.next();
        if named.next().is_some() {
            return Err(bad("there is more than one Host"));
        }
        let header = header.map(|value| value.to_str().map_err(|_| bad("the Host is none")));
        let authority = head.uri.authority().map(|authority| Ok(authority.as_str()));
        let mut place = None;
        for text in authority.into_iter().chain(header) {
            let named = Place::parse(text?).ok_or_else(|| bad("the Host is none"))?;
            if !self.hosts.has(&named.host) {
                let message = format!(
                    "this server is not {}: if it should be, start it with --allow-host {0}",
                    named.host
                );
                return Err(Failure::new(StatusCode::MISDIRECTED_REQUEST, message));
            }
            place.get_or_insert(named);
        }
        place.ok_or_else(|| bad("there is no Host"))
    }

    /// G2.
    fn check_origin(&self, head: &Parts, place: &Place) -> Result<(), Failure> {
        let reads = matches!(head.method, Method::GET | Method::HEAD) && !upgrades(&head.headers);
        let same = |value: &http::HeaderValue| {
            let origin = value.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|origin| origin.is_of(place, self.secure))
        };
        if reads || head.headers.get_all(ORIGIN).iter().all(same) {
            return Ok(());
        }
        Err(Failure::new(StatusCode::FORBIDDEN, "pages of another origin may not do this"))
    }
}

/// Whether a request asks for another protocol.
pub(crate) fn upgrades(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE)
}

/// All of a body (G4).
pub(crate) async fn whole(headers: &HeaderMap, body: Body) -> Result<Bytes, Failure> {
    let too_long = || {
        let message = format!("the body is longer than {BODY_BYTES} bytes");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if announced(headers).is_some_and(|length| length > BODY_BYTES as u64) {
        return Err(too_long());
    }
    match timeout(BODY_PATIENCE, Limited::new(body, BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
        Ok(Err(_)) => Err(Failure::new(StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => {
            let message = format!("the body did not come within {} s", BODY_PATIENCE.as_secs());
            Err(Failure::new(StatusCode::REQUEST_TIMEOUT, message))
        }
    }
}

/// How long a body says that it is.
pub(crate) fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
