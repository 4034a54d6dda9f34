//! `watchkeeper up`: runs a demo cluster in this process, and the web page over it.
//!
//! With `--kubeconfig` or `--context` it serves the page over that cluster instead, and changes nothing in it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Parser};
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::expiry::parse_ttl;
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::Client;
use watchkeeper_cluster::Cluster;

use crate::apiserver::{ACCESS, ACCESS_HELP, on_all_addresses};
use crate::connect;
use crate::demo;
use crate::failure::{Failure, is_taken};
use crate::serve;
use crate::signal::Interrupt;
use crate::stdout::print;
use crate::web_server::{self, WebServer};

/// First port that the API server tries if no address is given.
const API_PORT: u16 = 6443;
/// Number of consecutive ports to try.
const PORTS_TRIED: u16 = 100;

#[derive(Args)]
#[command(after_help = ACCESS_HELP)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: web_server::ServeOptions,
    /// Address of the API server [default: 127.0.0.1:6443, or the next free port]
    #[arg(long, value_name = "ADDR", help_heading = "Cluster")]
    api_listen: Option<SocketAddr>,
    /// Directory to store the cluster in, including the certificate authority and signing keys; by default everything
    /// is kept in memory
    #[arg(long, value_name = "DIR", help_heading = "Cluster")]
    data_dir: Option<PathBuf>,
    /// Start even if acknowledged changes are missing from the data directory: keep what is readable, and log what is
    /// lost
    #[arg(long, requires = "data_dir", help_heading = "Cluster")]
    recover: bool,
    /// Where to write the kubeconfig [default: in ~/.local/state/watchkeeper]
    #[arg(long, value_name = "PATH", help_heading = "Cluster")]
    write_kubeconfig: Option<PathBuf>,
    /// Number of simulated nodes
    #[arg(long, value_name = "COUNT", default_value_t = 3, help_heading = "Cluster")]
    nodes: u32,
    /// Start with an empty cluster, without the demo
    #[arg(long, help_heading = "Cluster")]
    no_demo: bool,
    /// Interval between changes made by the demo
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = parse_ttl, help_heading = "Cluster")]
    demo_every: Duration,
}

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    arguments: Arguments,
}

impl Arguments {
    /// Returns the defaults.
    pub(crate) fn defaults() -> Self {
        Alone::parse_from(["up"]).arguments
    }
}

pub(crate) async fn run(arguments: &Arguments, flags: &connect::Flags) -> Result<(), Failure> {
    if flags.kubeconfig.is_some() || flags.context.is_some() {
        return serve::over(&arguments.options, flags).await;
    }
    let interrupt = Interrupt::listen()?;
    let begun = Instant::now();
    let embedded = Embedded::start(arguments).await?;
    let outcome = Box::pin(embedded.show(arguments, begun, interrupt)).await;
    embedded.stop().await;
    outcome
}

/// A cluster that runs in this process.
struct Embedded {
    server: ApiServer,
    cluster: Cluster,
    client: Client,
    kubeconfig: KubeconfigFile,
    /// Data directory, if not in memory.
    kept: Option<PathBuf>,
}

/// A kubeconfig file that is removed on drop.
struct KubeconfigFile(PathBuf);

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // it may have been removed already
    }
}

impl Embedded {
    async fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let server = listen(arguments).await?;
        let started = Self::complete(arguments, &server).await;
        match started {
            Ok((cluster, client, kubeconfig)) => {
                Ok(Self { server, cluster, client, kubeconfig, kept: arguments.data_dir.clone() })
            }
            Err(failure) => {
                server.stop().await;
                Err(failure)
            }
        }
    }

    async fn complete(
        arguments: &Arguments,
        server: &ApiServer,
    ) -> Result<(Cluster, Client, KubeconfigFile), Failure> {
        let path = match &arguments.write_kubeconfig {
            Some(path) => path.clone(),
            None => state_directory()?.join(format!("kubeconfig-{}.yaml", server.address().port())),
        };
        let written = server.kubeconfig().write(&path);
        written.map_err(|error| {
            Failure::error(format!("failed to write kubeconfig {}: {error}", path.display()))
        })?;
        let kubeconfig = KubeconfigFile(path);
        let mut config = watchkeeper_cluster::config(server).map_err(|error| Failure::of(&error))?;
        config.user_agent = concat!("watchkeeper/", env!("CARGO_PKG_VERSION")).to_owned();
        let client = Client::new(&config)?;
        let started = Cluster::builder().nodes(arguments.nodes).start(server).await;
        Ok((started.map_err(|error| Failure::of(&error))?, client, kubeconfig))
    }

    /// Serves the page and runs the demo until interrupted.
    async fn show(&self, arguments: &Arguments, begun: Instant, interrupt: Interrupt) -> Result<(), Failure> {
        let page = WebServer::bind(&self.client, &arguments.options).await?;
        if !arguments.no_demo {
            demo::deploy(&self.client).await?;
        }
        print(self.greeting(&page.url(), arguments.no_demo, begun.elapsed()).as_bytes())?;
        let stop = CancellationToken::new();
        let play = async {
            if !arguments.no_demo {
                demo::run(&self.client, arguments.demo_every, &stop).await;
            }
        };
        let interrupted = async {
            interrupt.wait().await;
            stop.cancel();
        };
        tokio::join!(page.run(interrupted), play);
        Ok(())
    }

    fn greeting(&self, page: &str, is_empty: bool, took: Duration) -> String {
        let (api, all) = (self.server.url(), on_all_addresses(&self.server));
        let path = self.kubeconfig.0.display();
        let kept = match &self.kept {
            Some(directory) => format!("All data is stored in {}.", directory.display()),
            None => "All data is in memory and is lost when this process exits.".to_owned(),
        };
        let place = if self.kept.is_some() { "on disk" } else { "in memory" };
        let watched = if is_empty { "" } else { "  watchkeeper tree deployment/storefront -n shop\n" };
        format!(
            "Watchkeeper: a cluster {place}, ready in {} ms\n\n  \
             page         {page}\n  API server   {api}{all}\n  kubeconfig   {path}\n  access       {ACCESS}\n\n\
             Try:\n  export KUBECONFIG={path}\n  watchkeeper get pods -A\n  watchkeeper watch pods -A\n{watched}  \
             kubectl get deployments -A -w\n\n\
             {kept} Stop it with Ctrl-C.\n",
            took.as_millis()
        )
    }

    /// Stops the controllers before the server, so that they do not log connection errors.
    async fn stop(self) {
        self.cluster.stop().await;
        self.server.stop().await;
    }
}

/// Starts the API server on the given address, or on the first free port.
async fn listen(arguments: &Arguments) -> Result<ApiServer, Failure> {
    let start = |address| {
        let builder = ApiServer::builder().listen(address);
        match &arguments.data_dir {
            Some(directory) => builder.data_dir(directory).accept_loss(arguments.recover),
            None => builder,
        }
        .start()
    };
    let mut address = arguments.api_listen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, API_PORT).into());
    loop {
        match start(address).await {
            Err(error)
                if is_taken(&error)
                    && arguments.api_listen.is_none()
                    && address.port() < API_PORT + PORTS_TRIED =>
            {
                address.set_port(address.port() + 1);
            }
            started => return started.map_err(|error| Failure::port(address, "--api-listen", &error)),
        }
    }
}

/// Creates and returns this command's state directory, per the XDG specification.
fn state_directory() -> Result<PathBuf, Failure> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let directory = state.unwrap_or_else(std::env::temp_dir).join("watchkeeper");
    create_private(&directory).map_err(|error| {
        let shown = directory.display();
        Failure::error(format!(
            "failed to create {shown}: {error}; choose another place for the kubeconfig with --write-kubeconfig"
        ))
    })?;
    Ok(directory)
}

fn create_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}
