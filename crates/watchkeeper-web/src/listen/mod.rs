//! Listening: the service on a port.
//!
//! From: [`Options`], which say where, by which names, and what is open.
//! To:   the [`Service`]'s routes and the proxy, behind the [guard](crate::guard).
//!
//! - L1: beyond loopback there is no listening without TLS, and no answer without a token that the API server knows,
//!   except the page itself and the health of the service.
//! - L2: a server that is stopped accepts nobody, ends streams at once, and lets other requests finish for a while.

mod ending;
mod front;
mod options;
mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;

use tokio_util::sync::CancellationToken;
use watchkeeper_listen::{Listener, Security};

use crate::guard::{Guard, Host, Hosts, Place};
use crate::proxy::Proxy;
use crate::service::Service;
use front::Front;

pub use ending::Endless;
pub use options::{LIMITS, Options, ServeError, Tls};
pub use watchkeeper_listen::ConnectionLimits;

/// The service on a port, which is taken, and from which nobody is answered yet.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    front: Front,
}

impl Server {
    /// Takes the address; port 0 is any that is free. Clients can connect from here on, and wait.
    ///
    /// # Errors
    /// Where the address cannot be had, or what is asked for would be unsafe (L1).
    pub async fn bind(service: &Service, options: Options) -> Result<Self, ServeError> {
        let Options { address, hosts: names, tls, tokens, opening, limits } = options;
        if !address.ip().is_loopback() && tls.is_none() {
            return Err(ServeError::Plain { address }); // L1
        }
        let mut hosts = Hosts::default();
        for text in names {
            match Place::parse(&text) {
                Some(place) => hosts.allow(place.host),
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
        let proxy = Proxy::new(service.catalog().client(), opening)?;
        let front = Front::new(service, Guard::new(hosts, secure), tokens, proxy);
        Ok(Self { listener, front })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// `http://127.0.0.1:8888`.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// Answers until `stop` is done, and returns once every connection has ended (L2). If it is dropped before that,
    /// connections are cut off.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let told = CancellationToken::new();
        let mut running = pin!(self.listener.run(self.front, told.clone()));
        tokio::select! {
            () = &mut running => return,
            () = stop => told.cancel(),
        }
        running.await;
    }
}

impl Service {
    /// Listens and answers until `stop` is done: see [`Server`]. The informers are not started by this.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn serve(&self, options: Options, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        Server::bind(self, options).await?.run(stop).await;
        Ok(())
    }
}
