//! Connection: HTTP/2 to one endpoint, and how one is made.
//!
//! - N1: a connection over which nothing comes is noticed within [`DEAD_AFTER`] while it is used.

use std::sync::Arc;
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use watchkeeper_core::BoxError;

use crate::error::Error;
use crate::grpc::{Outgoing, cause};

/// When a silent connection is asked whether it lives. etcd takes offence at less than 5 s.
const PING_AFTER: Duration = Duration::from_secs(20);
/// How long the answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// After so long a connection is known to be dead (N1).
pub const DEAD_AFTER: Duration = Duration::from_secs(PING_AFTER.as_secs() + PING_TIMEOUT.as_secs());
/// How much may be under way to us, of one answer and of all: watches that nobody reads must not keep others from
/// being answered.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// Where an etcd listens.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// With TLS, the name that the server must have.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// A connection. Clones are of the same one.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Outgoing>,
    scheme: Scheme,
    authority: Authority,
    /// Which of all that were ever made.
    pub(crate) number: u64,
}

impl Endpoint {
    /// Makes a connection. Dropped half-way, there is none.
    pub(crate) async fn connect(&self, timeout: Duration, number: u64) -> Result<Connection, BoxError> {
        let sender = tokio::time::timeout(timeout, self.dial())
            .await
            .map_err(|_| format!("{} does not answer within {timeout:?}", self.authority))?
            .map_err(|error| format!("{}: {}", self.authority, cause(&*error)))?;
        Ok(Connection { sender, scheme: self.scheme.clone(), authority: self.authority.clone(), number })
    }

    async fn dial(&self) -> Result<SendRequest<Outgoing>, BoxError> {
        let host = self.authority.host();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = self.authority.port_u16().unwrap_or(2379);
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => shake_hands(TokioIo::new(stream)).await,
            Some((config, name)) => {
                let connector = TlsConnector::from(config.clone());
                let stream = connector.connect(name.clone(), stream).await?;
                shake_hands(TokioIo::new(stream)).await
            }
        }
    }
}

async fn shake_hands(
    io: impl Read + Write + Send + Unpin + 'static,
) -> Result<SendRequest<Outgoing>, BoxError> {
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .handshake(io)
        .await?;
    // It ends when the last sender and the last answer are dropped, or the connection breaks.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = cause(&error), "a connection to etcd broke");
        }
    });
    Ok(sender)
}

impl Connection {
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(crate) fn uri(&self, method: &'static str) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::from_static(method));
        Uri::from_parts(parts).unwrap_or_default() // all three are there
    }

    /// Sends a request. Fails as unreachable where the connection was closed before.
    pub(crate) async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, Error> {
        self.sender.ready().await.map_err(|error| Error::Unreachable(error.into()))?;
        self.sender.send_request(request).await.map_err(|error| Error::unavailable(cause(&error)))
    }
}
