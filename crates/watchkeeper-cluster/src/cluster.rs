//! Cluster: all controllers of a server, to start and to stop.

use http::Uri;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::transport::BuildError;
use watchkeeper_client::{Client, Config};

use crate::plane::Plane;
use crate::{accounts, namespace, replica_set, root_ca};

/// Why a cluster does not live.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A bug: the server says where it is.
    #[error("the server's own address cannot be read")]
    Address(#[from] http::uri::InvalidUri),
    /// There is no client for the server.
    #[error("there is no client for the server")]
    Client(#[from] BuildError),
}

/// How a cluster is to be.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Builder {}

impl Builder {
    /// Starts all controllers for a server of this process.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self, server: &ApiServer) -> Result<Cluster, StartError> {
        let client = Client::new(&config(server)?)?;
        let factory = InformerFactory::new(server.sources());
        let mut plane = Plane::new(client, factory);
        accounts::start(&mut plane);
        root_ca::start(&mut plane, server.ca_pem());
        namespace::start(&mut plane);
        replica_set::start(&mut plane);
        plane.start();
        Ok(Cluster { plane })
    }
}

/// What a client of this process needs to know of the server.
fn config(server: &ApiServer) -> Result<Config, StartError> {
    let mut config = Config::new(server.url().parse::<Uri>()?);
    if let Some(pem) = server.ca_pem() {
        config.authorities = Authorities::Pem(pem.to_owned());
    }
    config.authorization = Authorization::Token(server.token().into());
    config.plain_credentials = true; // a server without TLS is on loopback
    config.user_agent = "kube-controller-manager watchkeeper".to_owned();
    Ok(config)
}

/// Controllers that are running.
pub struct Cluster {
    plane: Plane,
}

impl Cluster {
    /// With everything that a cluster has.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Ends what is under way, and returns once everything has ended. If dropped instead, it is cut off.
    pub async fn stop(self) {
        self.plane.stop().await;
    }
}
