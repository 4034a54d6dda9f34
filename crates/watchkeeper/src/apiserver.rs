//! `watchkeeper apiserver`: the embedded API server, until it is interrupted.

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

/// What a valid credential permits: there is no authorization yet.
pub(crate) const ACCESS: &str =
    "every valid token or client certificate has full access, service accounts included";

/// The same, for help.
pub(crate) const ACCESS_HELP: &str = "\
Permissions:
  There is no authorization yet: every valid token or client certificate has full access to all resources, Secrets
  included. That holds for every service account, so that whoever can read a pod's token has the whole cluster.
";

#[derive(Args)]
#[command(after_help = ACCESS_HELP)]
pub(crate) struct Arguments {
    /// Where to listen; port 0 takes a free one, and 0.0.0.0 or [::] all addresses of this machine
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Keep everything in memory, which is the default
    #[arg(long)]
    memory: bool,
    /// Keep everything in this directory, and go on from there at the next start: objects, and the authority and keys that
    /// make kubeconfigs and tokens good
    #[arg(long, value_name = "DIR", conflicts_with = "memory")]
    data_dir: Option<PathBuf>,
    /// Start even if the data directory has lost acknowledged changes: keep what can be read, and log what is lost
    #[arg(long, requires = "data_dir")]
    recover: bool,
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
    let cluster = match arguments.no_controllers {
        true => None,
        false => Some(Cluster::builder().start(&server).await.map_err(|error| Failure::of(&error))?),
    };
    if let Err(error) = server.kubeconfig().write(kubeconfig) {
        stop(cluster, server).await;
        return Err(Failure::error(format!("cannot write the kubeconfig {}: {error}", kubeconfig.display())));
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
            if kept.is_some() { "" } else { "Everything is in memory and gone with this process. " },
        )
        .as_bytes(),
    )?;
    interrupt.wait().await;
    stop(cluster, server).await;
    Ok(())
}

/// Where else it can be reached, if it listens on all addresses.
pub(crate) fn on_all_addresses(server: &ApiServer) -> String {
    let address = server.address();
    match address.ip().is_unspecified() {
        true => format!(" (on {address}: all addresses of this machine)"),
        false => String::new(),
    }
}

/// The controllers first, so that nobody finds the server gone.
async fn stop(cluster: Option<Cluster>, server: ApiServer) {
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    server.stop().await;
}
