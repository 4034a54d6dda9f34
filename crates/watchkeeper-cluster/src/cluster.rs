//! Cluster: all controllers of a server, to start and to stop.

use std::sync::Arc;

use http::Uri;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::transport::BuildError;
use watchkeeper_client::{Client, Config};

use crate::nodes::Fleet;
use crate::pace::Pace;
use crate::plane::Plane;
use crate::{
    accounts, deployment, endpoints, garbage, kubelet, namespace, nodes, protection, replica_set, root_ca,
    scheduler,
};

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

/// No node of this name is simulated.
#[derive(Debug, thiserror::Error)]
#[error("no node {name:?} is simulated")]
pub struct UnknownNode {
    /// Its name.
    pub name: String,
}

/// How a cluster is to be.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    nodes: u32,
    nodes_only: bool,
    pace: Pace,
}

impl Default for Builder {
    fn default() -> Self {
        Self { nodes: 3, nodes_only: false, pace: Pace::default() }
    }
}

impl Builder {
    /// How many nodes are simulated, `node-1` and so on: 3 unless said. Without any, pods wait until somebody else
    /// brings a node and a kubelet.
    pub fn nodes(mut self, count: u32) -> Self {
        self.nodes = count;
        self
    }

    /// Only the scheduler and the simulated nodes, where a kube-controller-manager does the rest.
    pub fn nodes_only(mut self) -> Self {
        self.nodes_only = true;
        self
    }

    /// How long everything takes.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Starts all controllers for a server of this process.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self, server: &ApiServer) -> Result<Cluster, StartError> {
        let client = Client::new(&config(server)?)?;
        let plane = Plane::new(client, InformerFactory::new(server.sources()));
        Ok(self.run(plane, server.ca_pem()))
    }

    /// Starts all controllers for a server that is somewhere else. What it publishes of its authority is its own
    /// business.
    pub fn attach(self, client: &Client) -> Cluster {
        self.run(Plane::new(client.clone(), InformerFactory::new(client.clone())), None)
    }

    fn run(self, mut plane: Plane, authority: Option<&str>) -> Cluster {
        if !self.nodes_only {
            accounts::start(&mut plane);
            root_ca::start(&mut plane, authority);
            let departures = namespace::start(&mut plane);
            garbage::start(&mut plane, departures);
            replica_set::start(&mut plane);
            deployment::start(&mut plane);
            endpoints::start(&mut plane);
            protection::start(&mut plane);
            nodes::watch_over(&mut plane, &self.pace);
        }
        let fleet = Arc::new(Fleet::new(self.nodes));
        nodes::start(&mut plane, &fleet, &self.pace);
        scheduler::start(&mut plane, &self.pace);
        kubelet::start(&mut plane, &fleet, &self.pace);
        plane.start();
        Cluster { plane, fleet }
    }
}

/// What a client of this process needs to know of the server, to be its administrator.
///
/// # Errors
/// Where the server's address is none, which it never is.
pub fn config(server: &ApiServer) -> Result<Config, StartError> {
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
    fleet: Arc<Fleet>,
}

impl Cluster {
    /// With everything that a cluster has.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A simulated node falls silent: it says nothing, and does nothing with its pods.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn lose_node(&self, name: &str) -> Result<(), UnknownNode> {
        if self.fleet.lose(name) { Ok(()) } else { Err(UnknownNode { name: name.to_owned() }) }
    }

    /// A node that was lost goes on.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn restore_node(&self, name: &str) -> Result<(), UnknownNode> {
        if self.fleet.restore(name) { Ok(()) } else { Err(UnknownNode { name: name.to_owned() }) }
    }

    /// Ends what is under way, and returns once everything has ended. If dropped instead, it is cut off.
    pub async fn stop(self) {
        self.plane.stop().await;
    }
}
