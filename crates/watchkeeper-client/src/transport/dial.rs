//! Dials the server, through a proxy if there is one, and performs the TLS handshake.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::BufReader;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::resolve::Resolver;
use super::route::route;
use super::tls::{Built, Tls, server_name};
use super::{BuildError, ConnectError};
use crate::Config;
use crate::auth::Credentials;

/// Idle time before the kernel sends keepalive probes. With [`PROBE_INTERVAL`] and [`PROBES`] this adds up to
/// [`DEAD_AFTER`](super::DEAD_AFTER).
const PROBE_AFTER: Duration = Duration::from_secs(15);
/// Interval between keepalive probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// Number of unanswered probes after which a connection is dead.
const PROBES: u32 = 3;

/// Time limit for the TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// Read buffer of a TLS connection, in bytes. Rustls alone reads 4 KiB at a time, which costs four system calls per
/// TLS record of a long list.
const READ_BYTES: usize = 64 << 10;

/// A dialer of connections to one server.
#[derive(Debug)]
pub(super) struct Dialer {
    scheme: Scheme,
    authority: Authority,
    prefix: String,
    tcp: HttpConnector<Resolver>,
    route: Option<Intercept>,
    /// `None` for plain HTTP.
    tls: Option<(Tls, ServerName<'static>)>,
    proxy_tls: Arc<Tls>,
    timeout: Duration,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Requests, over HTTP/2 if the server supports it.
    Requests,
    /// A protocol upgrade, which starts as HTTP/1.1.
    Upgrade,
}

/// The negotiated protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// An open connection.
pub(super) struct Dialed {
    pub(super) io: Box<dyn Io>,
    pub(super) protocol: Protocol,
    /// The TLS configuration that it was opened with.
    pub(super) tls: Option<Arc<Built>>,
}

/// A byte stream in both directions.
pub(super) trait Io: hyper::rt::Read + hyper::rt::Write + Send + Unpin {}
impl<T: hyper::rt::Read + hyper::rt::Write + Send + Unpin> Io for T {}

impl Dialer {
    pub(super) fn new(config: &Config, credentials: Arc<dyn Credentials>) -> Result<Self, BuildError> {
        let scheme = config.server.scheme().cloned().unwrap_or(Scheme::HTTPS);
        let authority = config.server.authority().cloned();
        let authority = authority.ok_or_else(|| BuildError::ServerName(String::new()))?;
        let tls = if config.is_secure() {
            let name = config.tls_server_name.as_deref().unwrap_or(authority.host());
            let name = server_name(name).ok_or_else(|| BuildError::ServerName(name.to_owned()))?;
            let tls = Tls::new(config, credentials);
            Some((tls, name))
        } else {
            None
        };
        let route = route(&config.proxy, &config.server, |name| std::env::var(name).ok());
        Ok(Self {
            scheme,
            authority,
            prefix: config.server.path().trim_end_matches('/').to_owned(),
            tcp: connector(config),
            route,
            tls,
            proxy_tls: Arc::new(Tls::for_proxy(config.authorities.clone())),
            timeout: config.connect_timeout,
        })
    }

    /// Returns the absolute URI of a request to this server, below the path prefix of its address.
    pub(super) fn locate(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        uri.path_and_query(format!("{}{path}", self.prefix)).build().ok()
    }

    /// Returns `host:port`.
    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Returns `host:port` without user information.
    pub(super) fn host(&self) -> String {
        let address = self.authority.as_str();
        address.rsplit_once('@').map_or(address, |(_, host)| host).to_owned()
    }

    /// Returns the current TLS configuration; `None` for plain HTTP.
    pub(super) async fn current_tls(&self) -> Result<Option<Arc<Built>>, ConnectError> {
        match &self.tls {
            None => Ok(None),
            Some((tls, _)) => tls.current().await.map(Some),
        }
    }

    /// Opens a connection.
    ///
    /// The connect timeout does not include getting certificates: a plugin may wait for its user.
    pub(super) async fn dial(&self, purpose: Purpose) -> Result<Dialed, ConnectError> {
        let tls = self.current_tls().await?;
        match tokio::time::timeout(self.timeout, self.connect(purpose, tls)).await {
            Ok(dialed) => dialed,
            Err(_) => Err(self.timed_out(self.timeout)),
        }
    }

    async fn connect(&self, purpose: Purpose, tls: Option<Arc<Built>>) -> Result<Dialed, ConnectError> {
        let io = self.reach(purpose).await?;
        let (Some((_, name)), Some(built)) = (&self.tls, tls) else {
            return Ok(Dialed { io, protocol: Protocol::Http1, tls: None });
        };
        let protocols: &[&[u8]] = match purpose {
            Purpose::Requests => &[b"h2", b"http/1.1"],
            Purpose::Upgrade => &[b"http/1.1"],
        };
        let connector = TlsConnector::from(built.config(protocols));
        let io = BufReader::with_capacity(READ_BYTES, TokioIo::new(io));
        let stream = tokio::time::timeout(TLS_TIMEOUT, connector.connect(name.clone(), io)).await;
        let stream = stream.map_err(|_| self.timed_out(TLS_TIMEOUT))?;
        let stream = stream.map_err(|source| ConnectError::Tls { address: self.host(), source })?;
        let protocol = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => Protocol::Http2,
            _ => Protocol::Http1,
        };
        Ok(Dialed { io: Box::new(TokioIo::new(stream)), protocol, tls: Some(built) })
    }

    /// Returns the forwarding proxy, if plain HTTP requests go through one. Like Go, we do not use CONNECT for plain
    /// HTTP, because many proxies allow tunnels to TLS ports only.
    pub(super) fn forwarder(&self) -> Option<Forwarder<'_>> {
        let route = self.route.as_ref().filter(|route| self.tls.is_none() && !is_socks(route.uri()))?;
        Some(Forwarder { authorization: route.basic_auth() })
    }

    /// Connects to the server, directly or through the proxy, or to the forwarding proxy itself.
    async fn reach(&self, purpose: Purpose) -> Result<Box<dyn Io>, ConnectError> {
        let port = self.authority.port_u16().unwrap_or(match self.tls {
            Some(_) => 443,
            None => 80,
        });
        let to = format!("{}://{}:{port}", self.scheme, self.authority.host());
        let to: Uri = to.parse().map_err(|error: http::uri::InvalidUri| self.unreachable(error))?;
        let Some(route) = &self.route else {
            let stream = self.tcp.clone().call(to).await.map_err(|error| self.unreachable(error))?;
            return Ok(Box::new(stream));
        };
        let through = |source: Box<dyn std::error::Error + Send + Sync>| ConnectError::Proxy {
            address: self.host(),
            proxy: format!("{}:{}", route.uri().host().unwrap_or_default(), proxy_port(route.uri())),
            source,
        };
        let mut proxy = ProxyConnector { tcp: self.tcp.clone(), tls: self.proxy_tls.clone() };
        if purpose == Purpose::Requests && self.forwarder().is_some() {
            return proxy.call(route.uri().clone()).await.map_err(through);
        }
        if is_socks(route.uri()) {
            let mut socks = SocksV5::new(route.uri().clone(), proxy);
            if let Some((user, password)) = route.raw_auth() {
                socks = socks.with_auth(user.to_owned(), password.to_owned());
            }
            return socks.call(to).await.map_err(|error| through(error.into()));
        }
        let mut tunnel = Tunnel::new(route.uri().clone(), proxy);
        if let Some(auth) = route.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        tunnel.call(to).await.map_err(|error| through(error.into()))
    }

    fn unreachable(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ConnectError {
        ConnectError::Unreachable { address: self.host(), source: source.into() }
    }

    fn timed_out(&self, after: Duration) -> ConnectError {
        ConnectError::TimedOut { address: self.host(), after }
    }
}

fn connector(config: &Config) -> HttpConnector<Resolver> {
    let mut tcp = HttpConnector::new_with_resolver(Resolver::new(config.metrics.clone()));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(config.connect_timeout));
    tcp.set_keepalive(Some(PROBE_AFTER));
    tcp.set_keepalive_interval(Some(PROBE_INTERVAL));
    tcp.set_keepalive_retries(Some(PROBES));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(PROBE_INTERVAL * PROBES)); // limits unacknowledged data
    tcp
}

/// A proxy that forwards requests instead of tunnelling bytes.
pub(super) struct Forwarder<'a> {
    pub(super) authorization: Option<&'a HeaderValue>,
}

fn is_socks(proxy: &Uri) -> bool {
    proxy.scheme_str().is_some_and(|scheme| scheme.starts_with("socks5"))
}

fn proxy_port(proxy: &Uri) -> u16 {
    proxy.port_u16().unwrap_or(match proxy.scheme_str() {
        Some("https") => 443,
        Some("http") => 80,
        _ => 1080,
    })
}

/// A connector to a proxy.
#[derive(Clone)]
struct ProxyConnector {
    tcp: HttpConnector<Resolver>,
    tls: Arc<Tls>,
}

impl Service<Uri> for ProxyConnector {
    type Response = Box<dyn Io>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Self::Future {
        let (mut tcp, tls) = (self.tcp.clone(), self.tls.clone());
        Box::pin(async move {
            let host = proxy.host().unwrap_or_default().to_owned();
            let to: Uri = format!("http://{host}:{}", proxy_port(&proxy)).parse()?;
            let stream = tcp.call(to).await?;
            if proxy.scheme_str() != Some("https") {
                return Ok(Box::new(stream) as Box<dyn Io>);
            }
            let name = server_name(&host).ok_or("invalid proxy host name")?;
            let connector = TlsConnector::from(tls.current().await?.config(&[b"http/1.1"]));
            Ok(Box::new(TokioIo::new(connector.connect(name, TokioIo::new(stream)).await?)) as Box<dyn Io>)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DEAD_AFTER;

    /// `transport.T2` for HTTP/1.1, which has no pings.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_kernel_is_configured_to_detect_dead_connections_in_time() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to: Uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let config = Config::new(to.clone());
        let stream = connector(&config).call(to).await.unwrap().into_inner();
        let socket = socket2::SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        let (first, every) = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        let probes = socket.tcp_keepalive_retries().unwrap();
        assert_eq!(first + every * probes, DEAD_AFTER, "for an idle connection");
        let unacknowledged = socket.tcp_user_timeout().unwrap().unwrap();
        assert!(unacknowledged <= DEAD_AFTER, "for unacknowledged data");
    }
}
