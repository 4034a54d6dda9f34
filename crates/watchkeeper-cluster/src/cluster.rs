//! Cluster: starts and stops all controllers of a server.

use std::sync::Arc;

use http::Uri;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::config::{Authorities, Authorization};
use watchkeeper_client::transport::BuildError;
use watchkeeper_client::{Client, Config};

use crate::context::ControllerContext;
use crate::nodes::SimulatedNodes;
use crate::timings::Timings;
use crate::{
    accounts, deployment, endpoints, garbage, kubelet, namespace, nodes, protection, replica_set, root_ca,
    scheduler,
};

/// Why a cluster could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The server's own URL is invalid, which is a bug.
    #[error("invalid server URL")]
    Address(#[from] http::uri::InvalidUri),
    /// The client could not be built.
    #[error("failed to build a client for the server")]
    Client(#[from] BuildError),
}

/// There is no simulated node of this name.
#[derive(Debug, thiserror::Error)]
#[error("simulated node {name:?} not found")]
pub struct UnknownNode {
    /// The name.
    pub name: String,
}

/// Settings of a cluster.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    nodes: u32,
    nodes_only: bool,
    timings: Timings,
}

impl Default for Builder {
    fn default() -> Self {
        Self { nodes: 3, nodes_only: false, timings: Timings::default() }
    }
}

impl Builder {
    /// Sets the number of simulated nodes, `node-1` and so on. Defaults to 3. With 0, pods stay pending until
    /// a real node joins.
    pub fn nodes(mut self, count: u32) -> Self {
        self.nodes = count;
        self
    }

    /// Runs only the scheduler and the simulated nodes, next to a kube-controller-manager that does the rest.
    pub fn nodes_only(mut self) -> Self {
        self.nodes_only = true;
        self
    }

    /// Sets how long everything takes.
    pub fn timings(mut self, timings: Timings) -> Self {
        self.timings = timings;
        self
    }

    /// Starts all controllers for a server in this process.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(self, server: &ApiServer) -> Result<Cluster, StartError> {
        let client = Client::new(&config(server)?)?;
        let context = ControllerContext::new(client, InformerFactory::new(server.sources()));
        Ok(self.run(context, server.ca_pem()))
    }

    /// Starts all controllers for a remote server. Does not publish its CA bundle, which is that server's
    /// job.
    pub fn attach(self, client: &Client) -> Cluster {
        self.run(ControllerContext::new(client.clone(), InformerFactory::new(client.clone())), None)
    }

    fn run(self, mut context: ControllerContext, authority: Option<&str>) -> Cluster {
        if !self.nodes_only {
            accounts::start(&mut context);
            root_ca::start(&mut context, authority);
            let departures = namespace::start(&mut context);
            garbage::start(&mut context, departures);
            replica_set::start(&mut context);
            deployment::start(&mut context);
            endpoints::start(&mut context);
            protection::start(&mut context);
            nodes::start_controllers(&mut context, &self.timings);
        }
        let simulated = Arc::new(SimulatedNodes::new(self.nodes));
        nodes::start(&mut context, &simulated, &self.timings);
        scheduler::start(&mut context, &self.timings);
        kubelet::start(&mut context, &simulated, &self.timings);
        context.start();
        Cluster { context, simulated }
    }
}

/// Returns a client configuration with administrator access to the server.
///
/// # Errors
/// Never in practice: only if the server's URL is invalid.
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

/// Running controllers.
pub struct Cluster {
    context: ControllerContext,
    simulated: Arc<SimulatedNodes>,
}

impl Cluster {
    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Makes a simulated node fail: it stops its heartbeat and ignores its pods.
    ///
    /// # Errors
    /// Returns an error if there is no such node.
    pub fn lose_node(&self, name: &str) -> Result<(), UnknownNode> {
        if self.simulated.lose(name) { Ok(()) } else { Err(UnknownNode { name: name.to_owned() }) }
    }

    /// Recovers a node that was lost.
    ///
    /// # Errors
    /// Returns an error if there is no such node.
    pub fn restore_node(&self, name: &str) -> Result<(), UnknownNode> {
        if self.simulated.restore(name) { Ok(()) } else { Err(UnknownNode { name: name.to_owned() }) }
    }

    /// Stops all controllers, and returns once running calls have finished. Dropping the cluster instead
    /// aborts them.
    pub async fn stop(self) {
        self.context.stop().await;
    }
}
