//! Site: the web service and its page on a port, with the flags that say how.
//!
//! From: a client of an API server.
//! To:   whoever opens the page, or asks the service.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::time::timeout;
use watchkeeper_client::discovery::DiscoveryClient;
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, RestClient};
use watchkeeper_web::listen::{Options, Server, Tls};
use watchkeeper_web::{Catalog, Service};

use crate::failure::Failure;

/// How long the cluster may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the page and the service are served.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Web service")]
pub(crate) struct Flags {
    /// Where to serve the page and the service; port 0 takes a free one. Beyond loopback TLS is needed, and a token
    /// with every request
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,
    /// Another host name to answer to; may be given several times
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// A file with the certificate to serve with. It may be renewed in place, with its key
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// A file with the key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Ask for a token on loopback, too, and show everybody what they may see
    #[arg(long)]
    require_token: bool,
    /// Let writes through to the API server, below /api and /apis
    #[arg(long)]
    proxy_writes: bool,
    /// Let exec, attach, port-forward and WebSockets through to the API server
    #[arg(long)]
    proxy_upgrades: bool,
    /// Let Secrets, and tokens of service accounts, through to the API server; without it the proxy refuses both
    #[arg(long)]
    proxy_secrets: bool,
    /// List Secrets on the page and in the service, with their values redacted; the proxy is not affected
    #[arg(long)]
    cache_secrets: bool,
}

/// The service on a port that is taken. Nobody is answered yet.
pub(crate) struct Site {
    service: Service,
    server: Server,
}

impl Flags {
    fn options(&self) -> Options {
        let mut options = Options::new(self.listen)
            .require_tokens(self.require_token)
            .proxy_writes(self.proxy_writes)
            .proxy_upgrades(self.proxy_upgrades)
            .proxy_secrets(self.proxy_secrets);
        for host in &self.allow_host {
            options = options.allow_host(host);
        }
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            options = options.tls(Tls::Files { certificate: certificate.clone(), key: key.clone() });
        }
        options
    }
}

impl Site {
    /// Takes the port.
    pub(crate) async fn open(client: &Client, flags: &Flags) -> Result<Self, Failure> {
        let service = Service::over(Catalog::builder(client).secrets(flags.cache_secrets).build());
        let server = Server::bind(&service, flags.options()).await;
        let server = server.map_err(|error| Failure::port(flags.listen, "--listen", &error))?;
        Ok(Self { service, server })
    }

    /// `http://127.0.0.1:8888`
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Answers until `stop` is done, and returns once everything has ended.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) {
        self.service.start();
        self.server.run(stop).await;
        self.service.stop().await;
    }
}

/// Asks a cluster for its version, so that one that is not there is said at once.
pub(crate) async fn greet(client: &Client) -> Result<String, Failure> {
    let rest = RestClient::new(client.transport().clone(), "/", Content::json());
    let asked = DiscoveryClient::new(rest);
    match timeout(PATIENCE, asked.server_version()).await {
        Ok(Ok(version)) => Ok(version.git_version),
        Ok(Err(error)) => Err(Failure::from(error)),
        Err(_) => Err(Failure::error(format!("the cluster does not answer within {} s", PATIENCE.as_secs()))),
    }
}
