//! Transport: sends requests to one server over few connections.
//!
//! Input: the REST client, or any caller with an [`http::Request`].
//! Output: the server of a [`Config`].
//!
//! Invariants:
//! - `transport.T1`: a request is processed at most once. It is retried on another connection only if nothing of it was
//!   sent, or the server rejected it unprocessed (GOAWAY, REFUSED_STREAM); in other cases the caller decides.
//! - `transport.T2`: a silent connection is found dead within [`DEAD_AFTER`]: by pings (HTTP/2) or by the kernel's
//!   keepalive probes (HTTP/1.1).
//! - `transport.T3`: an HTTP/2 connection carries at most as many requests as the server allows; more requests open
//!   another connection.
//! - `transport.T4`: credentials are not sent over plain HTTP, unless the config allows it.
//! - `transport.T5`: dropping a request, or the body of its response, cancels it at the server.

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

use futures_util::future::BoxFuture;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, USER_AGENT};
use http::{HeaderValue, Request, Response, StatusCode};

use crate::Config;
use crate::auth::{self, Credentials, StaticCredentials};
use crate::config::{Authorization, Impersonate};
use crate::metrics::Metrics;
use dial::Dialer;
use pool::Pool;

pub(crate) use body::BodyBuffer;
pub use body::{Body, BodyError};
pub use error::{BuildError, ConnectError, TransportError};
pub(crate) use tls::check as check_identity;
pub use upgraded::Upgraded;

/// Time after which a silent connection is considered dead (`transport.T2`).
pub const DEAD_AFTER: Duration = Duration::from_secs(45);

/// A connection pool to one server, with credentials. Clones share it.
#[derive(Clone, Debug)]
pub struct Transport {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: Config,
    pool: Pool,
    credentials: Arc<dyn Credentials>,
    /// Whether credentials may be sent (`transport.T4`).
    may_authorize: bool,
    impersonate: Vec<(http::HeaderName, HeaderValue)>,
    compression: bool,
    user_agent: HeaderValue,
    /// `host:port`, for metrics and traces.
    host: String,
    metrics: Arc<dyn Metrics>,
}

impl Transport {
    /// Creates a transport with the credentials of the config: see [`auth::from_config`]. Nothing is sent and no plugin
    /// is run yet.
    ///
    /// # Errors
    /// If the config is invalid.
    pub fn from_config(config: &Config) -> Result<Self, BuildError> {
        Self::new(config, auth::from_config(config)?)
    }

    /// Creates a transport with these credentials; [`Config::authorization`] is ignored. Nothing is sent yet.
    ///
    /// # Errors
    /// If the config is invalid.
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
                impersonate: config
                    .impersonate
                    .as_ref()
                    .map(impersonation_headers)
                    .transpose()?
                    .unwrap_or_default(),
                compression: config.compression,
                user_agent,
                host,
                metrics: config.metrics.clone(),
            }),
        })
    }

    /// Sends a request to the server, whatever host its URI names, and returns when the response head has arrived.
    /// Existing headers are not replaced. Dropping the future cancels the request.
    ///
    /// # Errors
    /// If there is no response; [`TransportError::was_sent`] returns whether the request may have been processed
    /// (`transport.T1`). An error status is a response, not an error.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        let mut request = request;
        if self.shared.compression && !request.headers().contains_key(ACCEPT_ENCODING) {
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Ok(decompress(self.dispatch(request, Over::Pool).await?))
    }

    /// Forwards a request: like [`send`](Self::send), but leaves `Accept-Encoding` to the request and does not
    /// decompress the response.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn forward(&self, request: Request<Body>) -> Result<Response<Body>, TransportError> {
        self.dispatch(request, Over::Pool).await
    }

    /// Creates a transport to the same server with its own connections and without credentials, client certificate or
    /// impersonation, for requests that bring their own credentials.
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
        Self::new(&config, Arc::new(StaticCredentials::none()))
    }

    /// Sends a request over a new HTTP/1.1 connection, as a protocol upgrade requires. After a 101,
    /// [`hyper::upgrade::on`] returns the connection; [`upgrade`](Self::upgrade) does both.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_on_new_connection(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, TransportError> {
        Ok(decompress(self.dispatch(request, Over::NewConnection).await?))
    }

    /// Requests a protocol upgrade over a new HTTP/1.1 connection.
    ///
    /// Returns the upgraded connection after a 101, and the response otherwise.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn upgrade(&self, request: Request<Body>) -> Result<Upgrade, TransportError> {
        let mut response = self.send_on_new_connection(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Upgrade::Declined(response));
        }
        let guard = self.shared.pool.count();
        let upgraded = hyper::upgrade::on(&mut response).await.map_err(TransportError::lost)?;
        let (head, _) = response.into_parts();
        Ok(Upgrade::Switched(Response::from_parts(head, Upgraded::new(upgraded, guard))))
    }

    /// Makes later requests use new connections. Requests in flight continue.
    ///
    /// For callers that know before [`DEAD_AFTER`] that the current connections are dead.
    pub fn retire_connections(&self) {
        self.shared.pool.retire();
    }

    /// Returns the number of open connections, including upgraded ones.
    pub fn connections(&self) -> usize {
        self.shared.pool.connections()
    }

    /// Returns the server's `host:port`, as written in its address.
    pub fn host(&self) -> &str {
        &self.shared.host
    }

    /// Returns the maximum size of a response that is read whole: see [`Config::max_response_bytes`].
    pub fn max_response_bytes(&self) -> u64 {
        self.shared.config.max_response_bytes
    }

    /// Returns the metrics of this transport's clients.
    pub fn metrics(&self) -> &Arc<dyn Metrics> {
        &self.shared.metrics
    }

    /// Adds the common headers and sends a request.
    ///
    /// Returns a boxed future, so that the crates that await it do not compile the code of connections and TLS again.
    fn dispatch(
        &self,
        mut request: Request<Body>,
        over: Over,
    ) -> BoxFuture<'_, Result<Response<Body>, TransportError>> {
        Box::pin(async move {
            let generation = self.prepare(&mut request).await?;
            let response = match over {
                Over::Pool => self.shared.pool.send(request, generation).await?,
                Over::NewConnection => self.shared.pool.send_on_new_connection(request).await?,
            };
            self.check_unauthorized(response.status(), generation);
            Ok(response)
        })
    }

    /// Adds the headers common to all requests; returns the generation of the credentials, if any were added.
    async fn prepare(&self, request: &mut Request<Body>) -> Result<Option<u64>, TransportError> {
        let shared = &*self.shared;
        let mut generation = None;
        if shared.may_authorize && !request.headers().contains_key(AUTHORIZATION) {
            let credential = shared.credentials.authorization().await?;
            generation = Some(credential.generation);
            if let Some(header) = credential.header {
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

    fn check_unauthorized(&self, status: StatusCode, generation: Option<u64>) {
        if let (StatusCode::UNAUTHORIZED, Some(generation)) = (status, generation) {
            self.shared.credentials.invalidate(generation);
        }
    }
}

/// The connection of a request.
#[derive(Debug, Clone, Copy)]
enum Over {
    Pool,
    NewConnection,
}

/// The result of a protocol upgrade.
#[derive(Debug)]
pub enum Upgrade {
    /// The connection was upgraded.
    Switched(Response<Upgraded>),
    /// The server did not switch protocols.
    Declined(Response<Body>),
}

impl Upgrade {
    /// Returns the status code of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Switched(response) => response.status(),
            Self::Declined(response) => response.status(),
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

fn impersonation_headers(
    impersonate: &Impersonate,
) -> Result<Vec<(http::HeaderName, HeaderValue)>, BuildError> {
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| BuildError::Impersonation);
    let mut headers = vec![(http::HeaderName::from_static("impersonate-user"), value(&impersonate.user)?)];
    if !impersonate.uid.is_empty() {
        headers.push((http::HeaderName::from_static("impersonate-uid"), value(&impersonate.uid)?));
    }
    for group in &impersonate.groups {
        headers.push((http::HeaderName::from_static("impersonate-group"), value(group)?));
    }
    for (key, values) in &impersonate.extra {
        let name = format!("impersonate-extra-{}", escape_header_name(key));
        let name = http::HeaderName::try_from(name).map_err(|_| BuildError::Impersonation)?;
        for text in values {
            headers.push((name.clone(), value(text)?));
        }
    }
    Ok(headers)
}

/// Escapes an extra key for a header name: `%` and bytes not allowed in a name are percent-encoded.
fn escape_header_name(key: &str) -> String {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte);
    key.bytes()
        .map(|byte| {
            if legal(byte) {
                char::from(byte.to_ascii_lowercase()).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impersonation_is_sent_in_headers() {
        let impersonate = Impersonate {
            user: "her".into(),
            uid: "7".into(),
            groups: vec!["a".into(), "b".into()],
            extra: [("Acme.com/Scope%".to_owned(), vec!["x".to_owned()])].into(),
        };
        let headers = impersonation_headers(&impersonate).unwrap();
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(
            headers,
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
