//! Site: the embedded cluster with our service before it, and kubectl for whoever changes something.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::task::JoinHandle;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config};
use watchkeeper_cluster::Cluster as Living;
use watchkeeper_core::GroupVersion;
use watchkeeper_oracle::Binaries;
use watchkeeper_web::{Options, Server, Service};

use crate::Outcome;

/// A cluster and its page.
pub(crate) struct Site {
    api: ApiServer,
    living: Living,
    client: Client,
    web: Option<(Service, JoinHandle<()>)>,
    address: SocketAddr,
    home: TempDir,
}

impl Site {
    /// Starts everything.
    pub(crate) async fn start() -> Outcome<Self> {
        let api = ApiServer::builder().start().await?;
        let living = Living::builder().start(&api).await?;
        let home = TempDir::new()?;
        let config = home.path().join("config");
        std::fs::write(&config, api.kubeconfig().render())?;
        let client = Client::new(&Config::load(&Sources::File(config), &Overrides::default())?)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut site = Self { api, living, client, web: None, address, home };
        site.serve().await?;
        Ok(site)
    }

    /// Starts the service, at the address that it had if it had one.
    pub(crate) async fn serve(&mut self) -> Outcome {
        let service = Service::new(&self.client);
        service.start();
        let server = Server::bind(&service, Options::new(self.address)).await?;
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

    /// An address of the page.
    pub(crate) fn url(&self, fragment: &str) -> String {
        format!("http://{}/{fragment}", self.address)
    }

    /// Runs kubectl, which must succeed; what it prints is returned.
    pub(crate) async fn kubectl(&self, arguments: &str) -> Outcome<String> {
        self.kubectl_with(arguments, "").await
    }

    /// Runs kubectl with something to read.
    pub(crate) async fn kubectl_with(&self, arguments: &str, input: &str) -> Outcome<String> {
        let mut child = Command::new(Binaries::get()?.path("kubectl"))
            .args(arguments.split(' '))
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("HOME", self.home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or("its stdin is a pipe")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let ended = child.wait_with_output().await?;
        if !ended.status.success() {
            return Err(format!("kubectl {arguments}: {}", String::from_utf8_lossy(&ended.stderr)).into());
        }
        Ok(String::from_utf8(ended.stdout)?)
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
