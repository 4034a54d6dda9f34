//! The process: websites are brought into order until it is told to end.
//!
//! ```text
//! watchkeeper apiserver --write-kubeconfig kube.yaml &
//! KUBECONFIG=kube.yaml cargo run -p operator-example
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use clap::Parser;
use operator_example::{MANAGER, Websites, informers, install};
use watchkeeper_controller::Manager;
use watchkeeper_controller::events::EventRecorder;
use watchkeeper_controller::leader::{Elector, Lease};
use watchkeeper_core::BoxError;
use watchkeeper_kinds::{Client, TypedFactory};
use watchkeeper_metrics::Registry;

/// Runs a deployment for every website
#[derive(Parser)]
struct Arguments {
    /// Where /healthz, /readyz and /metrics are served
    #[arg(long, default_value = "127.0.0.1:8080")]
    health: SocketAddr,
    /// Work only while no other process does, by a lease
    #[arg(long)]
    leader_elect: bool,
    /// The namespace of the lease; that of the kubeconfig or of the pod unless said
    #[arg(long)]
    namespace: Option<String>,
    /// What this process is called on the lease; no other may be called so
    #[arg(long, env = "POD_NAME")]
    identity: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments = Arguments::parse();
    let client = Client::infer()?; // $KUBECONFIG, ~/.kube/config, or a pod's service account
    install(&client).await?;

    let (factory, registry) = (TypedFactory::from(informers(&client).build()), Registry::new());
    let mut manager = Manager::new(&factory).metrics(&registry).serve(arguments.health)?;
    if arguments.leader_elect {
        let namespace = arguments.namespace.as_deref().unwrap_or(client.default_namespace());
        let identity = arguments.identity.unwrap_or_else(unlike_any_other);
        manager = manager.elector(Elector::new(Lease::new(&client, namespace, MANAGER), &identity)?);
    }
    let (recorder, writer) = EventRecorder::for_server(&client, MANAGER).await;
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    manager.add(Websites::controller(&factory), Websites::new(&client, &factory, &recorder));
    eprintln!("websites are brought into order; health and metrics at http://{}", arguments.health);
    Ok(manager.run().await?) // until SIGTERM or SIGINT
}

fn unlike_any_other() -> String {
    format!("{}-{:x}", std::process::id(), RandomState::new().hash_one(MANAGER))
}
