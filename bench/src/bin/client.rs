//! Question: how much does one job cost Watchkeeper's client?
//!
//! Workload: one [`Job`](watchkeeper_bench::client::Job) per process. Not counted: starting, connecting, freeing the result.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin client -- list-raw --kubeconfig PATH
//! ```
//!
//! `clients` runs it in turn with other clients.

use std::process::ExitCode;

use bytes::Bytes;
use clap::Parser as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_bench::client::{Arguments, Fetched, NAMESPACE, Subject, Types, run};
use watchkeeper_bench::server::{ListForm, Outcome};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::{Api, Namespaced, Resource, api, k8s_openapi};

/// Our client with types of pods and config maps.
struct Watchkeeper<P, M> {
    client: Client,
    pods: Api<P>,
    config_maps: Api<M>,
}

impl<P, M> Subject for Watchkeeper<P, M>
where
    P: Fetched + Serialize + DeserializeOwned,
    M: Fetched + Serialize + DeserializeOwned,
{
    type Pod = P;
    type ConfigMap = M;

    async fn list_raw(&self, form: ListForm) -> Outcome<Bytes> {
        let content = match form {
            ListForm::Json => Content::json(),
            ListForm::Protobuf => Content::protobuf(),
        };
        Ok(self.client.rest(&"v1".parse()?, content).get().resource("pods").raw().await?)
    }

    async fn list_typed(&self) -> Outcome<Vec<P>> {
        Ok(self.pods.list(&Default::default()).await?.items)
    }

    async fn get(&self, name: &str) -> Outcome<M> {
        Ok(self.config_maps.get(name).await?)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().types {
        Types::Ours => measure::<api::core::v1::Pod, api::core::v1::ConfigMap>("Watchkeeper").await,
        Types::K8sOpenapi => {
            use k8s_openapi::api::core::v1::{ConfigMap, Pod};
            measure::<Pod, ConfigMap>("Watchkeeper-k8s-openapi").await
        }
    }
}

async fn measure<P, M>(name: &str) -> ExitCode
where
    P: Fetched + Serialize + DeserializeOwned + Resource<Scope = Namespaced>,
    M: Fetched + Serialize + DeserializeOwned + Resource<Scope = Namespaced>,
{
    run(name, async |arguments: &Arguments| {
        let sources = Sources::File(arguments.kubeconfig.clone());
        let mut config = Config::load(&sources, &Overrides::default())?;
        config.compression = arguments.compress;
        let client = Client::new(&config)?;
        let (pods, config_maps) = (Api::<P>::all(&client), Api::<M>::namespaced(&client, NAMESPACE));
        Ok(Watchkeeper { client, pods, config_maps })
    })
    .await
}
