//! Transports: the network paths from informers to the server, each with its own faults.

use std::net::SocketAddr;

use http::Uri;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_oracle::Cluster;
use watchkeeper_testkit::FaultProxy;

use crate::reverse_proxy::ReverseProxy;

/// Number of direct transports, and of transports through a reverse proxy.
const EACH: usize = 3;

/// A client, and the proxies between it and the server.
pub(crate) struct Transport {
    pub(crate) client: Client,
    pub(crate) proxy: FaultProxy,
    /// A reverse proxy that can inject HTTP errors; clients reach it over HTTP/1.1 without TLS. Without one, clients
    /// talk HTTP/2 and TLS to the real server.
    pub(crate) reverse_proxy: Option<ReverseProxy>,
}

/// Returns the client configuration for the cluster.
pub(crate) fn config(cluster: &Cluster) -> Config {
    Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default()).unwrap()
}

/// Starts transports, alternately direct and through a reverse proxy.
pub(crate) async fn start(cluster: &Cluster) -> Vec<Transport> {
    let mut transports = Vec::new();
    for _ in 0..EACH {
        transports.push(Transport::direct(cluster).await);
        transports.push(Transport::reverse_proxied(cluster).await);
    }
    transports
}

impl Transport {
    async fn direct(cluster: &Cluster) -> Self {
        let mut config = config(cluster);
        let server: SocketAddr = config.server.authority().unwrap().as_str().parse().unwrap();
        let proxy = FaultProxy::start(server).await.unwrap();
        config.server = proxy.url(&cluster.url()).parse().unwrap();
        Self { client: Client::new(&config).unwrap(), proxy, reverse_proxy: None }
    }

    async fn reverse_proxied(cluster: &Cluster) -> Self {
        let authority = CertificateDer::from_pem_slice(cluster.certificate_authority().as_bytes()).unwrap();
        let server =
            watchkeeper_oracle::Client::new(cluster.url(), Some(authority), cluster.token()).unwrap();
        let reverse_proxy = ReverseProxy::start(server).await.unwrap();
        let proxy = FaultProxy::start(reverse_proxy.address).await.unwrap();
        let mut config = config(cluster);
        config.server = format!("http://{}", proxy.address()).parse::<Uri>().unwrap();
        // The reverse proxy adds the credentials.
        (config.certificate, config.authorization) = (None, Authorization::None);
        config.authorities = Authorities::System;
        Self { client: Client::new(&config).unwrap(), proxy, reverse_proxy: Some(reverse_proxy) }
    }

    /// Removes all faults.
    pub(crate) async fn heal(&self) {
        self.proxy.heal();
        self.proxy.accept().await.unwrap();
        if let Some(reverse_proxy) = &self.reverse_proxy {
            reverse_proxy.heal();
        }
    }
}
