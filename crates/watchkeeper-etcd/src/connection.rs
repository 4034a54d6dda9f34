//! Connection: HTTP/2 to one endpoint.
//!
//! Invariants:
//! - `connection.N1`: a dead connection is detected within [`DEAD_AFTER`] while it is in use.

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

/// Idle time before a ping. etcd disconnects clients that ping more often than every 5 s.
const PING_AFTER: Duration = Duration::from_secs(20);
/// Timeout of a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Time until a silent connection is considered dead (`connection.N1`).
pub const DEAD_AFTER: Duration = Duration::from_secs(PING_AFTER.as_secs() + PING_TIMEOUT.as_secs());
/// HTTP/2 receive windows of a stream and of the connection: watches that are not read must not block other
/// responses.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// An etcd endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// TLS configuration and expected server name.
    pub(crate) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// A connection. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Outgoing>,
    scheme: Scheme,
    authority: Authority,
    /// Distinguishes this connection from earlier ones.
    pub(crate) number: u64,
}

impl Endpoint {
    /// Connects.
    pub(crate) async fn connect(&self, timeout: Duration, number: u64) -> Result<Connection, BoxError> {
        let sender = tokio::time::timeout(timeout, self.dial())
            .await
            .map_err(|_| format!("connecting to {} timed out after {timeout:?}", self.authority))?
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
            None => handshake(TokioIo::new(stream)).await,
            Some((config, name)) => {
                let connector = TlsConnector::from(config.clone());
                let stream = connector.connect(name.clone(), stream).await?;
                handshake(TokioIo::new(stream)).await
            }
        }
    }
}

async fn handshake(
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
    // Ends when the last sender and the last response are dropped, or when the connection fails.
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = cause(&error), "connection to etcd failed");
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
        Uri::from_parts(parts).unwrap_or_default() // cannot fail: all parts are set
    }

    /// Sends a request. Fails with [`Error::Unreachable`] if the connection was already closed, so that nothing was
    /// sent.
    pub(crate) async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, Error> {
        self.sender.ready().await.map_err(|error| Error::Unreachable(error.into()))?;
        self.sender.send_request(request).await.map_err(|error| Error::unavailable(cause(&error)))
    }
}
