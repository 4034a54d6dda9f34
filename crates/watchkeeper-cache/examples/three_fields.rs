//! Reads three fields of every pod into a custom type: name, node and phase. Nothing else is decoded.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example three_fields
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use watchkeeper_cache::{InformerFactory, Keep};
use watchkeeper_client::Client;
use watchkeeper_core::{Collection, ErrorChain, LabelSelector};

#[derive(Deserialize)]
struct PodView {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    phase: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("three_fields: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let factory = InformerFactory::new(Client::infer()?);
    let pods = factory.informer(&Collection::PODS);
    factory.start();
    factory.wait_until_ready(Duration::from_secs(60)).await?;
    for pod in pods.reader::<PodView>(Keep::Encoded).list(&LabelSelector::default()).items()? {
        let PodView { metadata, spec, status } = &*pod;
        let or = |field: &Option<String>| field.clone().unwrap_or_else(|| "<none>".to_owned());
        println!("{}\t{}\t{}", metadata.name, or(&spec.node_name), or(&status.phase));
    }
    factory.stop().await;
    Ok(())
}
