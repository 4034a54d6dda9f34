//! Lists the pods in kube-system with the dynamic client, and converts each to a type.
//!
//! ```sh
//! cargo run -p watchkeeper-client --example pods_dynamic
//! ```

use std::error::Error;
use std::process::ExitCode;

use serde::Deserialize;
use watchkeeper_client::Client;
use watchkeeper_client::dynamic::ListOptions;
use watchkeeper_core::ErrorChain;

/// The part of a pod that this program uses.
#[derive(Deserialize)]
struct Pod {
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pods_dynamic: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let client = Client::infer()?;
    let pods = client.dynamic(&"v1".parse()?, "pods").namespace("kube-system");
    for object in pods.list(&ListOptions::default()).await?.items {
        let pod: Pod = object.to_typed()?;
        println!("{}\t{}", object.name(), pod.spec.node_name.as_deref().unwrap_or("<none>"));
    }
    Ok(())
}
