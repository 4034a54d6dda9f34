//! Prints the state of a deployment: its current replica set, the pods, and the last event of each, from informers.
//!
//! ```sh
//! cargo run --example deployment_pods -- default web
//! ```

use std::error::Error;
use std::time::Duration;

use watchkeeper_cache::InformerFactory;
use watchkeeper_client::Client;
use watchkeeper_web::workload::{PodState, Workloads};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(namespace), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: deployment_pods NAMESPACE DEPLOYMENT".into());
    };
    let factory = InformerFactory::builder(Client::infer()?).namespaces([&namespace]).build();
    let workloads = Workloads::new(&factory);
    factory.start();
    factory.wait_until_ready(Duration::from_secs(30)).await?;

    let workload = workloads.get(&namespace, &name)?;
    println!("deployment   {} ({} wanted)", workload.deployment, workload.replicas);
    let revision = workload.revision.as_deref().unwrap_or("none");
    let set = workload.replica_set.as_deref().unwrap_or("none yet");
    println!("replica set  {set} (revision {revision})");
    workload.pods.iter().for_each(print);
    factory.stop().await;
    Ok(())
}

fn print(pod: &PodState) {
    println!("\n{}", pod.name);
    println!("  node        {}", pod.node);
    println!("  images      {}", pod.images.join(", "));
    println!("  phase       {}", pod.phase);
    println!("  ready       {}", pod.ready);
    let conditions =
        pod.conditions.iter().map(|condition| format!("{}={}", condition.kind, condition.status));
    println!("  conditions  {}", conditions.collect::<Vec<_>>().join(" "));
    println!("  message     {}", pod.message);
    println!("  created     {}", pod.created);
}
