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
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use watchkeeper_bench::client::{Arguments, NAMESPACE, Subject, run};
use watchkeeper_bench::server::{ListForm, Outcome};
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::Api;

struct Watchkeeper {
    client: Client,
    config_maps: Api<ConfigMap>,
}

impl Subject for Watchkeeper {
    async fn list_raw(&self, form: ListForm) -> Outcome<Bytes> {
        let content = match form {
            ListForm::Json => Content::json(),
            ListForm::Protobuf => Content::protobuf(),
        };
        Ok(self.client.rest(&"v1".parse()?, content).get().resource("pods").raw().await?)
    }

    async fn list_typed(&self) -> Outcome<Vec<Pod>> {
        Ok(Api::<Pod>::all(&self.client).list(&Default::default()).await?.items)
    }

    async fn get(&self, name: &str) -> Outcome<ConfigMap> {
        Ok(self.config_maps.get(name).await?)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    run("Watchkeeper", async |arguments: &Arguments| {
        let sources = Sources::File(arguments.kubeconfig.clone());
        let mut config = Config::load(&sources, &Overrides::default())?;
        config.compression = arguments.compress;
        let client = Client::new(&config)?;
        let config_maps = Api::namespaced(&client, NAMESPACE);
        Ok(Watchkeeper { client, config_maps })
    })
    .await
}
