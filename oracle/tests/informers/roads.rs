//! Roads: the ways on which informers reach the server, each with troubles of its own.

use std::net::SocketAddr;

use http::Uri;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_oracle::Cluster;
use watchkeeper_testkit::FaultProxy;

use crate::front::Front;

/// How many of each sort.
const EACH: usize = 3;

/// A way to the server.
pub(crate) struct Road {
    pub(crate) client: Client,
    pub(crate) proxy: FaultProxy,
    /// Some lead to a server that refuses what it likes to, over HTTP/1.1 and without TLS. Over the others HTTP/2 and
    /// TLS are spoken with the real one.
    pub(crate) front: Option<Front>,
}

/// What a client must know of the cluster.
pub(crate) fn config(cluster: &Cluster) -> Config {
    Config::load(&Sources::File(cluster.kubeconfig().to_owned()), &Overrides::default()).unwrap()
}

/// Roads of both sorts, by turns.
pub(crate) async fn build(cluster: &Cluster) -> Vec<Road> {
    let mut roads = Vec::new();
    for _ in 0..EACH {
        roads.push(Road::direct(cluster).await);
        roads.push(Road::fronted(cluster).await);
    }
    roads
}

impl Road {
    async fn direct(cluster: &Cluster) -> Self {
        let mut config = config(cluster);
        let server: SocketAddr = config.server.authority().unwrap().as_str().parse().unwrap();
        let proxy = FaultProxy::start(server).await.unwrap();
        config.server = proxy.url(&cluster.url()).parse().unwrap();
        Self { client: Client::new(&config).unwrap(), proxy, front: None }
    }

    async fn fronted(cluster: &Cluster) -> Self {
        let authority = CertificateDer::from_pem_slice(cluster.certificate_authority().as_bytes()).unwrap();
        let server =
            watchkeeper_oracle::Client::new(cluster.url(), Some(authority), cluster.token()).unwrap();
        let front = Front::start(server).await.unwrap();
        let proxy = FaultProxy::start(front.address).await.unwrap();
        let mut config = config(cluster);
        config.server = format!("http://{}", proxy.address()).parse::<Uri>().unwrap();
        // The front has a token of its own.
        (config.certificate, config.authorization) = (None, Authorization::None);
        config.authorities = Authorities::System;
        Self { client: Client::new(&config).unwrap(), proxy, front: Some(front) }
    }

    /// From now on nothing goes wrong.
    pub(crate) async fn heal(&self) {
        self.proxy.heal();
        self.proxy.accept().await.unwrap();
        if let Some(front) = &self.front {
            front.heal();
        }
    }
}
