//! Web server: serves the web page and its HTTP API, configured by flags.
//!
//! Input: a client of an API server.
//! Output: HTTP responses to browsers and API clients.

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

/// Timeout of the first request to the cluster.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Flags that configure the web server.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Web service")]
pub(crate) struct ServeOptions {
    /// Address to serve the page and the HTTP API on; port 0 picks a free port. Addresses other than loopback require
    /// TLS and a token with every request
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888")]
    pub(crate) listen: SocketAddr,
    /// Additional host name to accept in requests; can be repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Path to the serving certificate. Certificate and key are reloaded when the files change
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Path to the key of the serving certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Require a token on loopback too, and show each user only what they may read
    #[arg(long)]
    require_token: bool,
    /// Proxy write requests to the API server, below /api and /apis
    #[arg(long)]
    proxy_writes: bool,
    /// Proxy exec, attach, port-forward and other WebSocket upgrades to the API server
    #[arg(long)]
    proxy_upgrades: bool,
    /// Proxy requests for Secrets and service account tokens; rejected by default
    #[arg(long)]
    proxy_secrets: bool,
    /// Show Secrets on the page and in the HTTP API, with their values redacted; does not affect the proxy
    #[arg(long)]
    cache_secrets: bool,
}

/// A web service with a bound listener. No request is answered until [`run`](Self::run).
pub(crate) struct WebServer {
    service: Service,
    server: Server,
}

impl ServeOptions {
    fn listen_options(&self) -> Options {
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

impl WebServer {
    /// Binds the listener.
    pub(crate) async fn bind(client: &Client, options: &ServeOptions) -> Result<Self, Failure> {
        let service = Service::over(Catalog::builder(client).secrets(options.cache_secrets).build());
        let server = Server::bind(&service, options.listen_options()).await;
        let server = server.map_err(|error| Failure::port(options.listen, "--listen", &error))?;
        Ok(Self { service, server })
    }

    /// Returns the base URL, such as `http://127.0.0.1:8888`.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Serves until `stop` completes, and returns once all connections and watches have ended.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) {
        self.service.start();
        self.server.run(stop).await;
        self.service.stop().await;
    }
}

/// Requests the cluster's version, so that an unreachable cluster is reported immediately.
pub(crate) async fn check_cluster(client: &Client) -> Result<String, Failure> {
    let rest = RestClient::new(client.transport().clone(), "/", Content::json());
    let discovery = DiscoveryClient::new(rest);
    match timeout(FIRST_REQUEST_TIMEOUT, discovery.server_version()).await {
        Ok(Ok(version)) => Ok(version.git_version),
        Ok(Err(error)) => Err(Failure::from(error)),
        Err(_) => Err(Failure::error(format!(
            "the cluster did not respond within {} s",
            FIRST_REQUEST_TIMEOUT.as_secs()
        ))),
    }
}
