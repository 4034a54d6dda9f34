//! One factory with six resources: waits until all are ready, then lists pods by label and by node.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example shared_factory -- app=web
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use watchkeeper_cache::store::by_field;
use watchkeeper_cache::{InformerFactory, Keep};
use watchkeeper_client::Client;
use watchkeeper_core::{Collection, ErrorChain, LabelSelector};

/// The fields of a pod that this program needs.
#[derive(Deserialize)]
struct PodView {
    metadata: Metadata,
    spec: Spec,
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

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("shared_factory: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let selector: LabelSelector = std::env::args().nth(1).unwrap_or_default().parse()?;
    let factory = InformerFactory::new(Client::infer()?);
    let resources = [
        ("", "pods", "Pod"),
        ("", "services", "Service"),
        ("", "namespaces", "Namespace"),
        ("apps", "deployments", "Deployment"),
        ("apps", "statefulsets", "StatefulSet"),
        ("apps", "daemonsets", "DaemonSet"),
    ];
    let collections = resources.map(|(group, resource, kind)| Collection::new(group, "v1", resource, kind));
    for collection in &collections {
        factory.informer(collection);
    }
    let pods = factory.informer(&collections[0]); // the same informer
    pods.add_index("node", by_field(collections[0].kind().into(), "spec.nodeName".parse()?))?;
    factory.start();
    factory.wait_until_ready(Duration::from_secs(60)).await?;

    for collection in &collections {
        println!("{collection}: {}", factory.informer(collection).store().snapshot().len());
    }
    let reader = pods.reader::<PodView>(Keep::Encoded);
    for pod in reader.list(&selector).items()? {
        println!("{} on {}", pod.metadata.name, pod.spec.node_name.as_deref().unwrap_or("no node"));
    }
    for node in pods.store().snapshot().index_values("node")? {
        println!("{node} has {} pods", reader.by_index("node", node)?.items()?.len());
    }
    factory.stop().await;
    Ok(())
}
