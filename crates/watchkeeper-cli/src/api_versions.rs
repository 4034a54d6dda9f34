//! `watchkeeper api-versions`: prints the API versions that the server supports.

use clap::Args;
use watchkeeper_client::discovery::DiscoveryError;

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {}

/// Bypasses the discovery cache.
pub(crate) async fn run(_: &Arguments, flags: &Flags) -> Result<(), Failure> {
    let connection = Connection::open(flags)?;
    connection.discovery.invalidate();
    let found = connection.discovery.discover().await?;
    let mut versions: Vec<String> = found.versions().map(|(version, _)| version.to_string()).collect();
    // kubectl omits stale versions too.
    let failed = found.failures.iter().filter(|(_, error)| !matches!(error, DiscoveryError::Stale(_)));
    versions.extend(failed.map(|(version, _)| version.to_string()));
    versions.sort();
    versions.dedup();
    let text: String = versions.into_iter().map(|version| version + "\n").collect();
    Ok(print(text.as_bytes())?)
}
