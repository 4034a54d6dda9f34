//! Site: the embedded cluster with our service before it, and kubectl for whoever changes something.
//!
//! The service and the browser each have a wire of their own that a test can break; kubectl has none.

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
use watchkeeper_cluster::Cluster as Living;
use watchkeeper_core::GroupVersion;
use watchkeeper_oracle::Kubectl;
use watchkeeper_testkit::FaultProxy;
use watchkeeper_web::listen::Tls;
use watchkeeper_web::{Options, Server, Service};

use crate::Outcome;

/// A cluster and its page.
pub(crate) struct Site {
    api: ApiServer,
    living: Living,
    client: Client,
    web: Option<(Service, JoinHandle<()>)>,
    address: SocketAddr,
    /// Between the service and the API server.
    pub(crate) api_wire: FaultProxy,
    /// With it, everybody needs a token.
    tls: Option<Tls>,
    kubectl: Kubectl,
    _home: TempDir,
}

impl Site {
    /// Starts everything, open to everybody on this machine.
    pub(crate) async fn start() -> Outcome<Self> {
        Self::secured_by(None).await
    }

    /// Starts everything with TLS, for those who bring a token.
    pub(crate) async fn guarded() -> Outcome<Self> {
        let Identity { certificate, key, .. } = Authority::generate()?.sign_server(&[])?;
        Self::secured_by(Some(Tls::Pem { certificate, key: key.into() })).await
    }

    async fn secured_by(tls: Option<Tls>) -> Outcome<Self> {
        let api = ApiServer::builder().start().await?;
        let living = Living::builder().start(&api).await?;
        let home = TempDir::new()?;
        let config = home.path().join("config");
        std::fs::write(&config, api.kubeconfig().render())?;
        let kubectl = Kubectl::new(&config, home.path())?;
        let api_wire = FaultProxy::start(api.address()).await?;
        let mut through = api.kubeconfig();
        through.server = api_wire.url(&through.server);
        let config = home.path().join("config-of-the-service");
        std::fs::write(&config, through.render())?;
        let client = Client::new(&Config::load(&Sources::File(config), &Overrides::default())?)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut site = Self { api, living, client, web: None, address, api_wire, tls, kubectl, _home: home };
        site.serve().await?;
        Ok(site)
    }

    /// Starts the service, at the address that it had if it had one.
    pub(crate) async fn serve(&mut self) -> Outcome {
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

    /// Ends the service as a crash would: in the middle of its connections.
    pub(crate) async fn crash(&mut self) {
        if let Some((service, running)) = self.web.take() {
            running.abort();
            let _ = running.await;
            service.stop().await;
        }
    }

    /// Starts a wire between the browser and the service.
    pub(crate) async fn wire(&self) -> Outcome<FaultProxy> {
        Ok(FaultProxy::start(self.address).await?)
    }

    /// An address of the page.
    pub(crate) fn url(&self, fragment: &str) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/{fragment}", self.address)
    }

    /// Runs kubectl, which must succeed; what it prints is returned.
    pub(crate) async fn kubectl(&self, arguments: &str) -> Outcome<String> {
        self.kubectl_with(arguments, "").await
    }

    /// Runs kubectl with something to read.
    pub(crate) async fn kubectl_with(&self, arguments: &str, input: &str) -> Outcome<String> {
        Ok(self.kubectl.says(arguments.split(' '), input).await?)
    }

    /// Creates so many pods in a namespace `many`, a few at a time. No node runs them.
    pub(crate) async fn crowd(&self, count: usize) -> Outcome {
        self.kubectl("create namespace many").await?;
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

    /// Ends everything.
    pub(crate) async fn stop(mut self) {
        self.crash().await;
        self.living.stop().await;
        self.api.stop().await;
    }
}
