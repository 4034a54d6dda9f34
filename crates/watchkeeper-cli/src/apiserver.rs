//! `watchkeeper apiserver`: runs the embedded API server until interrupted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use watchkeeper_apiserver::expiry::parse_ttl;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_apiserver::store::disk::Recovery;
use watchkeeper_cluster::Cluster;

use crate::failure::Failure;
use crate::signal::Interrupt;
use crate::stdout::print;

/// The permissions of a valid credential: there is no authorization yet.
pub(crate) const ACCESS: &str =
    "every valid token or client certificate has full access, service accounts included";

/// The same for the help text.
pub(crate) const ACCESS_HELP: &str = "\
Permissions:
  There is no authorization yet: every valid token or client certificate has full access to all resources, including
  Secrets. This includes every service account: anyone who can read a pod's token has full access to the cluster.
";

#[derive(Args)]
#[command(after_help = ACCESS_HELP)]
pub(crate) struct Arguments {
    /// Address to listen on; port 0 picks a free port, 0.0.0.0 or [::] listen on all addresses of this machine
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Keep all data in memory (the default)
    #[arg(long)]
    memory: bool,
    /// Directory to store all data in, including the certificate authority and signing keys; reused at the next start
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    data_dir: Option<PathBuf>,
    /// Start even if acknowledged changes are missing from the data directory: keep what is readable, and log what is
    /// lost
    #[arg(long, requires = "data_dir")]
    recover: bool,
    /// Run no controllers: for example, a Deployment gets no Pods, and a deleted Namespace stays until it is finalized
    #[arg(long)]
    no_controllers: bool,
    /// Time after which an event is deleted, counted from its last update; 0 keeps events until they are deleted
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_ttl)]
    event_ttl: Duration,
    /// Enable fault injection under /debug/watchkeeper: failing responses, broken or stalled watches
    #[arg(long)]
    fault_endpoint: bool,
    /// Where to write the kubeconfig; only its owner can read it
    #[arg(long, value_name = "PATH")]
    write_kubeconfig: PathBuf,
}

pub(crate) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (address, kubeconfig) = (arguments.listen, arguments.write_kubeconfig.as_path());
    let interrupt = Interrupt::listen()?;
    let mut builder = ApiServer::builder()
        .listen(address)
        .event_ttl(arguments.event_ttl)
        .fault_endpoint(arguments.fault_endpoint);
    if let Some(directory) = &arguments.data_dir {
        builder = builder.data_dir(directory).accept_loss(arguments.recover);
    }
    let start = builder.start().await;
    let server = start.map_err(|error| Failure::port(address, "--listen", &error))?;
    let cluster = if arguments.no_controllers {
        None
    } else {
        Some(Cluster::builder().start(&server).await.map_err(|error| Failure::of(&error))?)
    };
    if let Err(error) = server.kubeconfig().write(kubeconfig) {
        stop(cluster, server).await;
        return Err(Failure::error(format!("failed to write kubeconfig {}: {error}", kubeconfig.display())));
    }
    let path = kubeconfig.display();
    let kept = arguments.data_dir.as_ref().zip(server.recovery()).map(|(directory, recovery)| {
        let Recovery { objects, revision, .. } = recovery;
        format!("data        {}, with {objects} objects at version {revision}\n", directory.display())
    });
    print(
        format!(
            "API server  {}{}\nkubeconfig  {path}\n{}access      {ACCESS}\n\nTry: kubectl --kubeconfig {path} get namespaces\n\
             {}Stop it with Ctrl-C.\n",
            server.url(),
            on_all_addresses(&server),
            kept.as_deref().unwrap_or_default(),
            if kept.is_some() { "" } else { "All data is in memory and is lost when this process exits. " },
        )
        .as_bytes(),
    )?;
    interrupt.wait().await;
    stop(cluster, server).await;
    Ok(())
}

/// Describes the other addresses of the server, if it listens on all of them.
pub(crate) fn on_all_addresses(server: &ApiServer) -> String {
    let address = server.address();
    if address.ip().is_unspecified() {
        format!(" (on {address}: all addresses of this machine)")
    } else {
        String::new()
    }
}

/// Stops the controllers before the server, so that they do not log connection errors.
async fn stop(cluster: Option<Cluster>, server: ApiServer) {
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    server.stop().await;
}
