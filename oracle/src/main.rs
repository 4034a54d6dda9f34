//! Runs a real cluster until it is interrupted: `watchkeeper-oracle [--controller-manager]`.
//!
//! Prints `export KUBECONFIG=...` once the cluster is ready, for a shell to evaluate.

use std::process::ExitCode;

use watchkeeper_oracle::Cluster;

#[tokio::main]
async fn main() -> ExitCode {
    let controller_manager = std::env::args().any(|argument| argument == "--controller-manager");
    let cluster = match Cluster::builder().controller_manager(controller_manager).start().await {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("export KUBECONFIG={}", cluster.kubeconfig().display());
    match tokio::signal::ctrl_c().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE, // no signal handler: exit now rather than run until killed
    }
}
