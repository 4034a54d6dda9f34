//! Transport: requests go out, answers come back, over as few connections as will do.
//!
//! From: the REST client, or anybody with an [`http::Request`].
//! To:   the server of a [`Config`].
//!
//! - T1: a request is done once. If the connection was lost before anything of it was sent, or the server has
//!   said that it did not look at it (GOAWAY, REFUSED_STREAM), another connection is tried; otherwise nobody
//!   can know, and the caller decides.
//! - T2: a connection over which nothing comes is found dead within [`DEAD_AFTER`]: by pings (HTTP/2) or by
//!   the kernel's probes (HTTP/1.1).
//! - T3: no more requests are on an HTTP/2 connection than the server allows: then there is another.
//! - T4: credentials do not go over plain HTTP unless the config says so.
//! - T5: dropping a request, or the body of its answer, cancels it at the server too.

mod body;
mod dial;
mod error;
mod pool;
mod resolve;
mod route;
mod tls;
mod upgraded;

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};

use crate::Config;
use crate::auth::{self, Credentials, Fixed};
use crate::config::{Authorization, Impersonate};
use crate::metrics::Metrics;
use dial::Dialer;
use pool::Pool;

pub(crate) use body::Gather;
pub use body::{Body, BodyError};
pub use error::{BuildError, ConnectError, TransportError};
pub(crate) use tls::check as check_identity;
pub use upgraded::Upgraded;

/// After how long a connection is known to be dead over which nothing comes (T2).
pub const DEAD_AFTER: Duration = Duration::from_secs(45);

/// The way to one server, for everybody in the process who asks it in the same name. Clones share it.
#[derive(Clone, Debug)]
pub struct Transport {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: Config,
    pool: Pool,
    credentials: Arc<dyn Credentials>,
    /// T4.
    may_authorize: bool,
    impersonate: Vec<(http::HeaderName, HeaderValue)>,
    compression: bool,
    user_agent: HeaderValue,
    /// `host:port`, as metrics and traces have it.
    host: String,
    metrics: Arc<dyn Metrics>,
}

impl Transport {
    /// A way that has what the config says for credentials: see [`auth::from_config`]. Nothing is sent yet,
    /// and no program is run.
    ///
    /// # Errors
    /// If the config has texts that no header can have, or makes no sense.
    pub fn from_config(config: &Config) -> Result<Self, BuildError> {
        Self::new(config, auth::from_config(config)?)
    }

    /// A way with credentials of the caller's own: [`Config::authorization`] does not count. Nothing is sent
    /// yet.
    ///
    /// # Errors
    /// If the config has texts that no header can have.
    pub fn new(config: &Config, credentials: Arc<dyn Credentials>) -> Result<Self, BuildError> {
        let dialer = Dialer::new(config, credentials.clone())?;
        let user_agent = HeaderValue::from_str(&config.user_agent).map_err(|_| BuildError::UserAgent)?;
        let host = dialer.host();
        config.metrics.transport_created();
        Ok(Self {
            shared: Arc::new(Shared {
                config: config.clone(),
                pool: Pool::new(dialer),
                credentials,
                may_authorize: config.is_secure() || config.plain_credentials,
                impersonate: config.impersonate.as_ref().map(headers).transpose()?.unwrap_or_default(),
                compression: config.compression,
                user_agent,
                host,
                metrics: config.metrics.clone(),
            }),
        })
    }

    /// Sends a request to the server, whatever host its URI names; returns as soon as the head of the
    /// answer has come. Headers that are there are not replaced. Dropped half-way, the request is cancelled.
    ///
    /// # Errors
    /// If there is no answer: [`TransportError`] says whether the request was sent (T1). A refusal by the
    /// server is an answer.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        let mut request = request;
        let given = self.prepare(&mut request).await?;
        if self.shared.compression && !request.headers().contains_key(ACCEPT_ENCODING) {
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let response = self.shared.pool.send(request, given).await?;
        self.hear(response.status(), given);
        Ok(decompress(response))
    }

    /// Sends on a request of somebody else's: as [`send`](Self::send), but whether the answer may be compressed is what
    /// the request itself says, and what is compressed stays so.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn forward(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        let mut request = request;
        let given = self.prepare(&mut request).await?;
        let response = self.shared.pool.send(request, given).await?;
        self.hear(response.status(), given);
        Ok(response)
    }

    /// A way to the same server, over connections of its own, for those who bring their own credentials: it has none,
    /// neither for requests nor for connections, and acts as nobody.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn anonymous(&self) -> Result<Self, BuildError> {
        let config = Config {
            certificate: None,
            authorization: Authorization::None,
            impersonate: None,
            ..self.shared.config.clone()
        };
        Self::new(&config, Arc::new(Fixed::none()))
    }

    /// Sends a request over an HTTP/1.1 connection of its own, as one that asks for another protocol needs it.
    /// If the answer is 101, [`hyper::upgrade::on`] has the connection; [`upgrade`](Self::upgrade) does so.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_alone(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        let mut request = request;
        let given = self.prepare(&mut request).await?;
        let response = self.shared.pool.send_alone(request).await?;
        self.hear(response.status(), given);
        Ok(decompress(response))
    }

    /// Sends a request that asks for another protocol, over an HTTP/1.1 connection of its own.
    ///
    /// The answer is 101 and the connection is there; or it is another, and has a body.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn upgrade(&self, request: Request<Body>) -> Result<Upgrade, TransportError> {
        let mut response = self.send_alone(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Upgrade::Refused(response));
        }
        let counted = self.shared.pool.count();
        let upgraded = hyper::upgrade::on(&mut response).await.map_err(TransportError::lost)?;
        let (head, _) = response.into_parts();
        Ok(Upgrade::Switched(Response::from_parts(head, Upgraded::new(upgraded, counted))))
    }

    /// Makes requests from now on use new connections. Requests that are under way go on.
    ///
    /// For a caller that knows before [`DEAD_AFTER`] that nothing comes over the connections that there are.
    pub fn retire_connections(&self) {
        self.shared.pool.retire();
    }

    /// How many connections there are, those included that speak another protocol by now.
    pub fn connections(&self) -> usize {
        self.shared.pool.connections()
    }

    /// The server: `host:port`, as far as its address says.
    pub fn host(&self) -> &str {
        &self.shared.host
    }

    /// The most bytes of an answer that is read as a whole: see [`Config::max_response_bytes`].
    pub fn max_response_bytes(&self) -> u64 {
        self.shared.config.max_response_bytes
    }

    /// Who hears what clients over this transport do.
    pub fn metrics(&self) -> &Arc<dyn Metrics> {
        &self.shared.metrics
    }

    /// Adds what every request has; returns the generation of the credentials that were added.
    async fn prepare(&self, request: &mut Request<Body>) -> Result<Option<u64>, TransportError> {
        let shared = &*self.shared;
        let mut generation = None;
        if shared.may_authorize && !request.headers().contains_key(AUTHORIZATION) {
            let given = shared.credentials.authorization().await?;
            generation = Some(given.generation);
            if let Some(header) = given.header {
                request.headers_mut().insert(AUTHORIZATION, header);
            }
        }
        let headers = request.headers_mut();
        if !headers.contains_key("impersonate-user") {
            for (name, value) in &shared.impersonate {
                headers.append(name.clone(), value.clone());
            }
        }
        headers.entry(USER_AGENT).or_insert_with(|| shared.user_agent.clone());
        Ok(generation)
    }

    fn hear(&self, status: StatusCode, given: Option<u64>) {
        if let (StatusCode::UNAUTHORIZED, Some(generation)) = (status, given) {
            self.shared.credentials.refused(generation);
        }
    }
}

/// What came of asking for another protocol.
#[derive(Debug)]
pub enum Upgrade {
    /// The connection speaks it now.
    Switched(Response<Upgraded>),
    /// The server has said something else.
    Refused(Response<Body>),
}

impl Upgrade {
    /// The code of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Switched(answer) => answer.status(),
            Self::Refused(answer) => answer.status(),
        }
    }
}

fn decompress(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if head.headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding != "gzip") {
        return Response::from_parts(head, body);
    }
    head.headers.remove(CONTENT_ENCODING);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, body.gunzip())
}

fn headers(whom: &Impersonate) -> Result<Vec<(http::HeaderName, HeaderValue)>, BuildError> {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| BuildError::Impersonation);
    let mut headers = vec![(http::HeaderName::from_static("impersonate-user"), value(&whom.user)?)];
    if !whom.uid.is_empty() {
        headers.push((http::HeaderName::from_static("impersonate-uid"), value(&whom.uid)?));
    }
    for group in &whom.groups {
        headers.push((http::HeaderName::from_static("impersonate-group"), value(group)?));
    }
    for (key, values) in &whom.extra {
        let name = format!("impersonate-extra-{}", escaped(key));
        let name = http::HeaderName::try_from(name).map_err(|_| BuildError::Impersonation)?;
        for text in values {
            headers.push((name.clone(), value(text)?));
        }
    }
    Ok(headers)
}

/// A key in the name of a header: bytes that a name cannot have, and `%`, are percent-encoded.
fn escaped(key: &str) -> String {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    key.bytes()
        .map(|byte| match legal(byte) {
            true => char::from(byte.to_ascii_lowercase()).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_to_act_as_is_said_in_headers() {
        let whom = Impersonate {
            user: "her".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: [("Acme.com/Scope%".to_owned(), vec!["x".to_owned()])].into(),
        };
        let headers = headers(&whom).unwrap();
        let shown: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            shown,
            [
                ("impersonate-user", "her"),
                ("impersonate-uid", "7"),
                ("impersonate-group", "a"),
                ("impersonate-group", "b"),
                ("impersonate-extra-acme.com%2fscope%25", "x"),
            ]
        );
    }
}
