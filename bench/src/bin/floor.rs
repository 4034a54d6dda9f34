//! Question: how much does it cost to receive a watch and discard its events?
//! This is a lower bound for every informer.
//!
//! Workload: the initial events of all pods, and then the requested number of updates, with the same client and
//! transport as the informer. Events are split and dropped. Not counted: creating the client.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin floor -- --kubeconfig PATH --events 10000
//! ```

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use watchkeeper_bench::client::Spent;
use watchkeeper_bench::informer::{Events, Memory, Report, Sync};
use watchkeeper_bench::server::Outcome;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::transport::Body;
use watchkeeper_client::{Client, Config};
use watchkeeper_core::{
    Bookmark, Encoding, GroupVersion, ObjectMetaBuilder, WatchEventType, WatchFrom, WatchRequest,
};
use watchkeeper_wire::{Annotations, Limits, WatchFrames, read_object_meta};

/// Idle time before the memory is read.
const IDLE: Duration = Duration::from_secs(2);

/// Measures the cost of receiving a watch of pods
#[derive(Parser)]
struct Arguments {
    /// Kubeconfig of the server
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// Number of updates to wait for
    #[arg(long, value_name = "N", default_value_t = 0)]
    events: u64,
    /// Ignored; accepted so that all informers take the same arguments
    #[arg(long, value_name = "SELECTOR")]
    select: Option<String>,
}

struct Watch {
    body: Body,
    frames: WatchFrames,
}

#[tokio::main]
async fn main() -> ExitCode {
    match tokio::spawn(measure(Arguments::parse())).await.map_err(Into::into).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("floor: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: Arguments) -> Outcome<()> {
    let sources = Sources::File(arguments.kubeconfig);
    let client = Client::new(&Config::load(&sources, &Overrides::default())?)?;
    let rest = client.rest(&GroupVersion::new("", "v1"), Content::protobuf());
    let request = WatchRequest {
        from: WatchFrom::InitialEvents { not_older_than: None },
        timeout: None,
        bookmarks: true,
    };
    let spent = Spent::now()?;
    let response = rest.get().resource("pods").params(request.query()).open_watch().await?;
    let frames = WatchFrames::new(Encoding::Protobuf, Limits::DEFAULT);
    let mut watch = Watch { body: response.into_body(), frames };
    let objects = usize::try_from(watch.count(None).await?)?;
    let cost = spent.since()?;
    let sync = Sync { objects, wall: cost.wall, cpu: cost.cpu, memory: Memory::read()? };
    println!("floor {}", Report::Sync(sync));

    tokio::time::sleep(IDLE).await;
    println!("floor {}", Report::Steady(Memory::read()?));
    if arguments.events > 0 {
        let spent = Spent::now()?;
        watch.count(Some(arguments.events)).await?;
        let cost = spent.since()?;
        let events = Events { count: arguments.events, wall: cost.wall, cpu: cost.cpu };
        println!("floor {}", Report::Events(events));
    }
    Ok(())
}

impl Watch {
    /// Counts events until there are `most`; without it, until the end of the initial events.
    async fn count(&mut self, most: Option<u64>) -> Outcome<u64> {
        let mut count = 0;
        while most != Some(count) {
            match self.frames.next()? {
                Some(frame) if frame.kind == WatchEventType::Bookmark => {
                    let mut builder = ObjectMetaBuilder::default();
                    let metadata =
                        read_object_meta(Encoding::Protobuf, frame.object, Annotations::Keep, &mut builder)?;
                    if most.is_none() && Bookmark::from(&metadata).initial_events_end {
                        return Ok(count);
                    }
                }
                Some(_) => count += 1,
                None => self.frames.push(self.body.chunk().await?.ok_or("the watch ended")?),
            }
        }
        Ok(count)
    }
}
