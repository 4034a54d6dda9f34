//! Environment: the embedded cluster, our web service in front of it, and kubectl.
//!
//! The connections between the service and the API server go through a fault-injecting proxy, and those between the
//! browser and the service can. kubectl is connected to the API server directly.

use std::net::{Ipv4Addr, SocketAddr};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use watchkeeper_apiserver::http::{Authority, Identity};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::Cluster;
use watchkeeper_core::GroupVersion;
use watchkeeper_oracle::Kubectl;
use watchkeeper_testkit::FaultProxy;
use watchkeeper_web::listen::Tls;
use watchkeeper_web::{Options, Server, Service};

use crate::Outcome;

/// An embedded cluster and its web service.
pub(crate) struct Environment {
    api: ApiServer,
    cluster: Cluster,
    client: Client,
    web: Option<(Service, JoinHandle<()>)>,
    address: SocketAddr,
    /// Between the service and the API server.
    pub(crate) api_proxy: FaultProxy,
    /// If set, the service requires tokens.
    tls: Option<Tls>,
    kubectl: Kubectl,
    _home: TempDir,
}

impl Environment {
    /// Starts a service that needs no token.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::start_with(None).await
    }

    /// Starts a service with TLS that requires a token.
    pub(crate) async fn start_with_tokens() -> Outcome<Self> {
        let Identity { certificate, key, .. } = Authority::generate()?.sign_server(&[])?;
        Self::start_with(Some(Tls::Pem { certificate, key: key.into() })).await
    }

    async fn start_with(tls: Option<Tls>) -> Outcome<Self> {
        let api = ApiServer::builder().start().await?;
        let cluster = Cluster::builder().start(&api).await?;
        let home = TempDir::new()?;
        let config = home.path().join("config");
        std::fs::write(&config, api.kubeconfig().render())?;
        let kubectl = Kubectl::new(&config, home.path())?;
        let api_proxy = FaultProxy::start(api.address()).await?;
        let mut through_proxy = api.kubeconfig();
        through_proxy.server = api_proxy.url(&through_proxy.server);
        let config = home.path().join("service-config");
        std::fs::write(&config, through_proxy.render())?;
        let client = Client::new(&Config::load(&Sources::File(config), &Overrides::default())?)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut environment =
            Self { api, cluster, client, web: None, address, api_proxy, tls, kubectl, _home: home };
        environment.start_service().await?;
        Ok(environment)
    }

    /// Starts the service; after a crash, at its previous address.
    pub(crate) async fn start_service(&mut self) -> Outcome {
        let service = Service::new(&self.client);
        service.start();
        let mut options = Options::new(self.address);
        if let Some(tls) = &self.tls {
            options = options.tls(tls.clone()).require_tokens(true);
        }
        let server = Server::bind(&service, options).await?;
        self.address = server.address();
        self.web = Some((service, tokio::spawn(server.run(std::future::pending()))));
        Ok(())
    }

    /// Ends the service and cuts its connections, as a crash would.
    pub(crate) async fn crash_service(&mut self) {
        if let Some((service, running)) = self.web.take() {
            running.abort();
            let _ = running.await;
            service.stop().await;
        }
    }

    /// Starts a proxy between the browser and the service.
    pub(crate) async fn start_service_proxy(&self) -> Outcome<FaultProxy> {
        Ok(FaultProxy::start(self.address).await?)
    }

    /// The URL of the page; `fragment` is the part after the host.
    pub(crate) fn url(&self, fragment: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{fragment}", self.address)
    }

    /// Runs kubectl, which must succeed, with this standard input, and returns its output.
    pub(crate) async fn kubectl(&self, arguments: &str, input: &str) -> Outcome<String> {
        Ok(self.kubectl.stdout(arguments.split(' '), input).await?)
    }

    /// Creates pods in the namespace `many`, 32 at a time. No scheduler assigns them to a node.
    pub(crate) async fn create_pods(&self, count: usize) -> Outcome {
        self.kubectl("create namespace many", "").await?;
        let pods = self.client.rest(&GroupVersion::new("", "v1"), Content::json());
        let create = |i: usize| {
            let app = ["web", "api", "mail", "billing"][i % 4];
            let pod = json!({
                "metadata": {"name": format!("{app}-{i:05}"), "labels": {"app": app, "zone": format!("z{}", i % 7)}},
                "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "example.org/app:1"}]},
            });
            let request = pods.post().namespace("many").resource("pods").object(&pod);
            async move { request.send().await.map(drop) }
        };
        stream::iter((0..count).map(create)).buffer_unordered(32).try_collect::<()>().await?;
        Ok(())
    }

    /// Stops the service, the cluster and the API server.
    pub(crate) async fn stop(mut self) {
        self.crash_service().await;
        self.cluster.stop().await;
        self.api.stop().await;
    }
}
