//! Prints every Deployment that is created, rolled out or deleted, until Ctrl-C.
//!
//! ```sh
//! cargo run -p watchkeeper-kinds --example deployments
//! ```

use std::error::Error;
use std::process::ExitCode;

use watchkeeper_cache::Notification;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::ErrorChain;
use watchkeeper_kinds::api::apps::v1::Deployment;
use watchkeeper_kinds::{Client, Object as _, TypedFactory};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deployments: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let factory = TypedFactory::new(&Client::infer()?);
    let deployments = factory.apps_v1().deployments();
    let mut handler = deployments.handle(SubscriptionOptions::default(), |change| match change {
        Notification::Added { new, .. } => println!("+ {}", shown(&new)),
        Notification::Updated { old, new } if ready(&old) != ready(&new) => println!("~ {}", shown(&new)),
        Notification::Deleted { old, .. } => println!("- {}", shown(&old)),
        Notification::Updated { .. } | Notification::Resync(_) => {}
        Notification::Undecodable { key, error, .. } => eprintln!("{key}: {error}"),
    });
    factory.start();
    tokio::select! {
        _ = handler.caught_up() => println!("these are there; changes follow"),
        stopped = tokio::signal::ctrl_c() => return Ok(stopped?),
    }
    tokio::signal::ctrl_c().await?;
    println!("{} are left", deployments.lister().list(&Default::default()).items()?.len());
    factory.stop().await;
    Ok(())
}

/// Returns the number of ready and desired replicas.
fn ready(deployment: &Deployment) -> (i32, i32) {
    (deployment.status.ready_replicas, deployment.spec.replicas.unwrap_or(1))
}

fn shown(deployment: &Deployment) -> String {
    let (ready, wanted) = ready(deployment);
    format!("{}/{} {ready}/{wanted}", deployment.namespace(), deployment.name())
}
