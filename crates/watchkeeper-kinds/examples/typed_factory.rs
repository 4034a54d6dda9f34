//! Runs a factory with five typed informers, and prints the pods of each node once all are ready.
//!
//! ```sh
//! cargo run -p watchkeeper-kinds --example typed_factory
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use watchkeeper_core::ErrorChain;
use watchkeeper_kinds::api::core::v1::Pod;
use watchkeeper_kinds::{Client, Object as _, TypedFactory};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("typed_factory: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let factory = TypedFactory::new(&Client::infer()?);
    let pods = factory.core_v1().pods();
    pods.add_index("node", |pod: &Pod| vec![pod.spec.node_name.to_string()])?;
    let lister = pods.lister();
    let nodes = factory.core_v1().nodes().lister();
    let services = factory.core_v1().services().lister();
    let deployments = factory.apps_v1().deployments().lister();
    let heads = factory.core_v1().secrets().metadata_only().lister(); // the server does not send the data
    factory.start();
    factory.wait_until_ready(Duration::from_secs(60)).await?;

    let all = Default::default();
    for node in nodes.list(&all).items()? {
        println!("{}:", node.name());
        for pod in lister.by_index("node", node.name())?.items()? {
            println!("  {}", pod.name());
        }
    }
    println!(
        "{} services, {} deployments, {} secrets",
        services.list(&all).items()?.len(),
        deployments.list(&all).items()?.len(),
        heads.list(&all).items()?.len()
    );
    factory.stop().await;
    Ok(())
}
