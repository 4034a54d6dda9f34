//! Web server: serves the service on a port.
//!
//! Input: [`Options`]: address, host names, and what the proxy passes.
//! Output: the [`Service`]'s routes and the proxy, behind the [guard](crate::guard).
//!
//! Invariants:
//! - `listen.L1`: beyond loopback, TLS is required, and every response except the page itself and health checks needs a
//!   token that the API server accepts.
//! - `listen.L2`: a stopping server accepts no connections, ends streams immediately, and lets other requests finish
//!   for a limited time.

mod handler;
mod options;
mod shutdown;
mod tls;

use std::future::Future;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use watchkeeper_listen::{Listener, Security};

use crate::guard::{Authority, Guard, Host, Hosts};
use crate::proxy::Proxy;
use crate::service::Service;
use handler::Handler;

pub use options::{DEFAULT_LIMITS, Options, ServeError, Tls};
pub use shutdown::StreamingResponse;
pub use watchkeeper_listen::ConnectionLimits;

/// A bound web server. Clients can connect, but no request is answered until [`run`](Self::run).
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    handler: Handler,
}

impl Server {
    /// Binds the address; port 0 picks a free port. Clients that connect wait for [`run`](Self::run).
    ///
    /// # Errors
    /// If the address cannot be bound, or the options would be unsafe (`listen.L1`).
    pub async fn bind(service: &Service, options: Options) -> Result<Self, ServeError> {
        let Options { address, hosts: names, tls, tokens, policy, limits } = options;
        if !address.ip().is_loopback() && tls.is_none() {
            return Err(ServeError::Plain { address }); // `listen.L1`
        }
        let mut hosts = Hosts::default();
        for text in names {
            match Authority::parse(&text) {
                Some(authority) => hosts.allow(authority.host),
                None => return Err(ServeError::Host { text }),
            }
        }
        if !address.ip().is_unspecified() {
            hosts.allow(Host::Address(address.ip().to_canonical()));
        }
        let secure = tls.is_some();
        let security = match tls {
            Some(tls) => tls::security(tls).await?,
            None => Security::Plain,
        };
        let listener = Listener::bind(address, security).await?.limits(limits);
        let tokens = tokens || !address.ip().is_loopback();
        let proxy = Proxy::new(service.catalog().client(), policy)?;
        let handler = Handler::new(service, Guard::new(hosts, secure), tokens, proxy);
        Ok(Self { listener, handler })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the base URL, such as `http://127.0.0.1:8888`.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// Serves until `stop` completes, and returns once every connection has ended (`listen.L2`). If dropped before
    /// that, connections are cut.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let stopping = CancellationToken::new();
        let mut running = self.serve(stopping.clone());
        tokio::select! {
            () = &mut running => return,
            () = stop => stopping.cancel(),
        }
        running.await;
    }

    /// Returns a boxed future, so that the crates that await it do not compile the service's code again.
    fn serve(self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(self.listener.run(self.handler, stop))
    }
}

impl Service {
    /// Serves until `stop` completes; see [`Server`]. Does not start the informers.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn serve(&self, options: Options, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        Server::bind(self, options).await?.run(stop).await;
        Ok(())
    }
}
