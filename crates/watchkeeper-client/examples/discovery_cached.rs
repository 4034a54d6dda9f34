//! Prints name, group and version of all resources of the server in the kubeconfig, from a cache shared with kubectl if
//! it is less than an hour old.
//!
//! ```sh
//! cargo run -p watchkeeper-client --example discovery_cached
//! ```

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use watchkeeper_client::discovery::{CacheDirectories, Discovery as _, DiskCache, HttpCache};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, DiscoveryClient, RestClient, Transport};
use watchkeeper_core::ErrorChain;

const TTL: Duration = Duration::from_secs(60 * 60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("discovery_cached: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let config = Config::infer()?;
    let transport = Transport::from_config(&config)?;
    let directories =
        CacheDirectories::for_kubectl(&config.server).ok_or("set HOME or KUBECACHEDIR for a cache")?;
    let client = DiscoveryClient::new(RestClient::new(transport, "/", Content::json()))
        .http_cache(HttpCache::new(directories.http, &config.server));
    let cache = DiskCache::new(Arc::new(client), directories.discovery, TTL);

    let found = cache.discover().await?;
    let mut out = std::io::stdout().lock();
    for (of, resource) in found.resources() {
        writeln!(out, "{}\t{}\t{}", resource.name, of.group, of.version)?;
    }
    if let Some(partial) = found.partial() {
        eprintln!("{partial}");
    }
    Ok(())
}
