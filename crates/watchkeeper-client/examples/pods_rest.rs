//! Lists the pods in kube-system with the REST client, as a type with two fields.
//!
//! ```sh
//! cargo run -p watchkeeper-client --example pods_rest
//! ```

use std::error::Error;
use std::process::ExitCode;

use serde::Deserialize;
use watchkeeper_client::Client;
use watchkeeper_client::rest::Content;
use watchkeeper_core::ErrorChain;

#[derive(Deserialize)]
struct PodList {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    phase: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pods_rest: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let core = Client::infer()?.rest(&"v1".parse()?, Content::protobuf());
    let response = core.get().namespace("kube-system").resource("pods").param("limit", "500").send().await?;
    let pods: PodList = response.into()?;
    for pod in pods.items {
        println!("{}\t{}", pod.metadata.name, pod.status.phase);
    }
    Ok(())
}
