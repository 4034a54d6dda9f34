//! Lists the pods in all namespaces, then watches them and prints `ADDED : name` until it is interrupted.
//!
//! ```sh
//! cargo run -p watchkeeper-client --example watch_pods
//! ```

use std::error::Error;
use std::process::ExitCode;

use futures_util::{StreamExt as _, TryStreamExt as _};
use watchkeeper_client::Client;
use watchkeeper_client::rest::Content;
use watchkeeper_client::source::RestSource;
use watchkeeper_core::{
    ErrorChain, ListPart, ListRequest, ListWatch as _, WatchEvent, WatchFrom, WatchRequest,
};
use watchkeeper_wire::Kind;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("watch_pods: {}", ErrorChain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let core = Client::infer()?.rest(&"v1".parse()?, Content::protobuf());
    let pods = RestSource::new(core, "pods", Kind::new("", "v1", "Pod"));

    let mut list = pods.list(ListRequest::default());
    let mut version = None;
    while let Some(part) = list.try_next().await? {
        match part {
            ListPart::Item(pod) => println!("LISTED : {}", pod.metadata.key()),
            ListPart::End(end) => version = Some(end.resource_version),
        }
    }
    let version = version.ok_or("the list was incomplete")?;
    let mut watch = pods.watch(WatchRequest::new(WatchFrom::After(version))).await?;
    while let Some(event) = watch.next().await {
        let event = event?;
        let kind = event.kind();
        if let WatchEvent::Added(pod) | WatchEvent::Modified(pod) | WatchEvent::Deleted(pod) = event {
            println!("{kind} : {}", pod.metadata.key());
        }
    }
    Ok(())
}
