//! `watchkeeper serve`: serves the web page and the HTTP API over a cluster until interrupted.

use clap::Args;
use watchkeeper_client::Client;

use crate::connect;
use crate::failure::Failure;
use crate::signal::Interrupt;
use crate::site::{self, Site};
use crate::stdout::print;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    site: site::Flags,
}

pub(crate) async fn run(arguments: &Arguments, flags: &connect::Flags) -> Result<(), Failure> {
    over(&arguments.site, flags).await
}

/// Serves the page over the cluster that the flags select.
pub(crate) async fn over(site: &site::Flags, flags: &connect::Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let config = flags.config()?;
    let client = Client::new(&config)?;
    let version = site::greet(&client).await?;
    let site = Site::open(&client, site).await?;
    print(
        format!(
            "Watchkeeper over {} ({version})\n\n  page         {}\n\nStop it with Ctrl-C.\n",
            config.server,
            site.url()
        )
        .as_bytes(),
    )?;
    site.run(interrupt.wait()).await;
    Ok(())
}
