//! `watchkeeper apiserver`: the embedded API server, until it is interrupted.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use watchkeeper_apiserver::expiry::parse_ttl;
use watchkeeper_apiserver::server::{ApiServer, StartError};
use watchkeeper_apiserver::store::disk::{OpenError, Recovery};
use watchkeeper_cluster::Cluster;

use crate::stdout::{WriteError, print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Keep everything in memory, which is the default
    #[arg(long)]
    memory: bool,
    /// Keep everything in this directory, and go on from there at the next start
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    data_dir: Option<PathBuf>,
    /// Run no controllers: nothing is made of what is written, and a deleted namespace stays until it is finalized
    #[arg(long)]
    no_controllers: bool,
    /// How long an event stays after it was last written; 0 keeps it until it is deleted
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_ttl)]
    event_ttl: Duration,
    /// Let faults be asked for under /debug/watchkeeper: failing answers, watches that break off or stall
    #[arg(long)]
    fault_endpoint: bool,
    /// Where to write the kubeconfig, readable for its owner alone
    #[arg(long, value_name = "PATH")]
    write_kubeconfig: PathBuf,
}

/// Why the server did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("cannot run")]
    Runtime(#[source] io::Error),
    #[error("cannot start the API server on {address}")]
    Start { address: SocketAddr, source: StartError },
    #[error(transparent)]
    Data(#[from] OpenError),
    #[error("cannot start the controllers")]
    Controllers(#[from] watchkeeper_cluster::StartError),
    #[error("cannot write the kubeconfig {}", path.display())]
    Kubeconfig { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Print(#[from] WriteError),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), ServeError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServeError::Runtime)?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> Result<(), ServeError> {
    let (address, kubeconfig) = (arguments.listen, arguments.write_kubeconfig.as_path());
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Runtime)?;
    let mut builder = ApiServer::builder()
        .listen(address)
        .event_ttl(arguments.event_ttl)
        .fault_endpoint(arguments.fault_endpoint);
    if let Some(directory) = &arguments.data_dir {
        builder = builder.data_dir(directory);
    }
    let server = match builder.start().await {
        Ok(server) => server,
        Err(StartError::Data(error)) => return Err(error.into()),
        Err(source) => return Err(ServeError::Start { address, source }),
    };
    let cluster = match arguments.no_controllers {
        true => None,
        false => Some(Cluster::builder().start(&server).await?),
    };
    let written = server.kubeconfig().write(kubeconfig);
    if let Err(source) = written {
        stop(cluster, server).await;
        return Err(ServeError::Kubeconfig { path: kubeconfig.to_owned(), source });
    }
    let path = kubeconfig.display();
    let kept = arguments.data_dir.as_ref().zip(server.recovery()).map(|(directory, recovery)| {
        let Recovery { objects, revision, .. } = recovery;
        format!("data        {}, with {objects} objects at version {revision}\n", directory.display())
    });
    print(
        format!(
            "API server  {}\nkubeconfig  {path}\n{}\nTry: kubectl --kubeconfig {path} get namespaces\n\
             {}Stop it with Ctrl-C.\n",
            server.url(),
            kept.as_deref().unwrap_or_default(),
            if kept.is_some() { "" } else { "Everything is in memory and gone with this process. " },
        )
        .as_bytes(),
    )?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    stop(cluster, server).await;
    Ok(())
}

/// The controllers first, so that nobody finds the server gone.
async fn stop(cluster: Option<Cluster>, server: ApiServer) {
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    server.stop().await;
}
