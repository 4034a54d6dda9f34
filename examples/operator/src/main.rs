//! Runs the operator until SIGTERM or SIGINT.
//!
//! ```text
//! watchkeeper apiserver --write-kubeconfig kube.yaml &
//! KUBECONFIG=kube.yaml cargo run -p operator-example
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use operator_example::{Context, MANAGER, controller, informers, install, reconcile};
use watchkeeper_controller::Manager;
use watchkeeper_controller::events::EventRecorder;
use watchkeeper_controller::leader::{Elector, Lease};
use watchkeeper_core::BoxError;
use watchkeeper_kinds::{Client, TypedFactory};
use watchkeeper_metrics::Registry;

/// Run a deployment for every website
#[derive(Parser)]
struct Arguments {
    /// Address of /healthz, /readyz and /metrics
    #[arg(long, default_value = "127.0.0.1:8080")]
    health: SocketAddr,
    /// Run only while holding a lease
    #[arg(long)]
    leader_elect: bool,
    /// Namespace of the lease; defaults to that of the kubeconfig or of the pod
    #[arg(long)]
    namespace: Option<String>,
    /// Identity of this process on the lease; must be unique
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
        let identity = arguments.identity.unwrap_or_else(unique_identity);
        manager = manager.elector(Elector::new(Lease::new(&client, namespace, MANAGER), &identity)?);
    }
    let (recorder, writer) = EventRecorder::for_server(&client, MANAGER).await;
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    let context = Context::new(&client, &factory, &recorder);
    manager.add(controller(&factory), reconcile, Arc::new(context));
    eprintln!("reconciling websites; health and metrics at http://{}", arguments.health);
    Ok(manager.run().await?) // until SIGTERM or SIGINT
}

fn unique_identity() -> String {
    format!("{}-{:x}", std::process::id(), RandomState::new().hash_one(MANAGER))
}
