//! Lists and watches the ConfigMaps of a namespace, and prints every change until Ctrl-C.
//!
//! ```sh
//! cargo run -p watchkeeper-cache --example configmaps -- kube-system
//! ```

use std::error::Error;
use std::process::ExitCode;

use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Handler, SubscriptionOptions};
use watchkeeper_cache::{Informer, Keep};
use watchkeeper_client::Client;
use watchkeeper_core::{Collection, ErrorChain, LabelSelector, ListWatchFactory as _};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("configmaps: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let client = Client::infer()?;
    let namespace = std::env::args().nth(1).unwrap_or_else(|| client.default_namespace().to_owned());
    let collection = Collection::CONFIG_MAPS.namespace(&namespace);

    let maps = Informer::new(collection.kind().into(), client.source(&collection));
    Handler::start(maps.subscribe(SubscriptionOptions::default()), |change| {
        let word = match change {
            Delta::Added { initial: true, .. } => "EXISTING",
            Delta::Added { .. } => "ADDED",
            Delta::Updated { .. } => "MODIFIED",
            Delta::Deleted { .. } => "DELETED",
            Delta::Resync(_) => "RESYNC",
        };
        println!("{word} : {}", change.newest().metadata.key());
    });
    maps.start();
    tokio::signal::ctrl_c().await?;

    let list = maps.reader::<serde_json::Value>(Keep::Encoded).list(&LabelSelector::default());
    let version = list.version().clone();
    println!("{} ConfigMaps at version {version}", list.items()?.len());
    maps.stop().await;
    Ok(())
}
