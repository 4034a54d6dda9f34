//! Measures one job with kube-client: `kube_client JOB --kubeconfig PATH`. `bench client` runs it.

use std::process::ExitCode;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use watchkeeper_bench::client::{Arguments, NAMESPACE, Subject, run};
use watchkeeper_bench::server::{ListForm, Outcome};

struct KubeClient {
    client: Client,
    config_maps: Api<ConfigMap>,
}

impl Subject for KubeClient {
    type Pod = Pod;
    type ConfigMap = ConfigMap;

    async fn list_raw(&self, form: ListForm) -> Outcome<Bytes> {
        let request = http::Request::get("/api/v1/pods").header(http::header::ACCEPT, form.accept());
        let response = self.client.send(request.body(kube::client::Body::empty())?).await?;
        Ok(response.into_body().collect().await?.to_bytes())
    }

    async fn list_typed(&self) -> Outcome<Vec<Pod>> {
        Ok(Api::<Pod>::all(self.client.clone()).list(&Default::default()).await?.items)
    }

    async fn get(&self, name: &str) -> Outcome<ConfigMap> {
        Ok(self.config_maps.get(name).await?)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    run("kube-client", async |arguments: &Arguments| {
        let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.disable_compression = !arguments.compress;
        let client = Client::try_from(config)?;
        let config_maps = Api::namespaced(client.clone(), NAMESPACE);
        Ok(KubeClient { client, config_maps })
    })
    .await
}
