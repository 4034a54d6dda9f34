//! Prints name, group and version of all resources of the server in the kubeconfig.
//!
//! ```sh
//! cargo run -p watchkeeper-client --example discovery
//! ```

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use watchkeeper_client::discovery::Discovery as _;
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Config, DiscoveryClient, RestClient, Transport};
use watchkeeper_core::ErrorChain;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("discovery: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let config = Config::infer()?;
    let transport = Transport::from_config(&config)?;
    let client = DiscoveryClient::new(RestClient::new(transport, "/", Content::json()));

    let found = client.discover().await?;
    let mut out = std::io::stdout().lock();
    for (of, resource) in found.resources() {
        writeln!(out, "{}\t{}\t{}", resource.name, of.group, of.version)?;
    }
    if let Some(partial) = found.partial() {
        eprintln!("{partial}");
    }
    Ok(())
}
