//! `watchkeeper serve`: serves the web page and the HTTP API over a cluster until interrupted.

use clap::Args;
use watchkeeper_client::Client;

use crate::connect;
use crate::failure::Failure;
use crate::signal::Interrupt;
use crate::stdout::print;
use crate::web_server::{self, WebServer};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: web_server::ServeOptions,
}

pub(crate) async fn run(arguments: &Arguments, flags: &connect::Flags) -> Result<(), Failure> {
    over(&arguments.options, flags).await
}

/// Serves the page over the cluster that the flags select.
pub(crate) async fn over(options: &web_server::ServeOptions, flags: &connect::Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let config = flags.config()?;
    let client = Client::new(&config)?;
    let version = web_server::check_cluster(&client).await?;
    let server = WebServer::bind(&client, options).await?;
    print(
        format!(
            "Watchkeeper over {} ({version})\n\n  page         {}\n\nStop it with Ctrl-C.\n",
            config.server,
            server.url()
        )
        .as_bytes(),
    )?;
    server.run(interrupt.wait()).await;
    Ok(())
}
