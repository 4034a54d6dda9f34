//! Question: how much do the initial sync, holding the objects and following updates cost an informer?
//!
//! Workload: an informer for one resource, with an index by `spec.nodeName` and a subscription that counts every event,
//! against any server. Not counted: creating the client, discovery.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin informer -- --kubeconfig PATH --resource pods --events 10000
//! ```

use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use serde::de::DeserializeOwned;
use watchkeeper_bench::client::{Spent, Types};
use watchkeeper_bench::informer::{Events, Memory, Report, Selected, Sync};
use watchkeeper_bench::server::Outcome;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, RawEvent, RawEvents, SubscriptionOptions};
use watchkeeper_cache::store::by_field;
use watchkeeper_cache::{Informer, Keep, Reader};
use watchkeeper_client::discovery::RestMapper;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::Content;
use watchkeeper_client::{Client, Config, DiscoveryClient, RestClient};
use watchkeeper_core::{Collection, LabelSelector, ListWatchFactory as _};
use watchkeeper_kinds::{api, k8s_openapi};

/// Idle time before the memory is read.
const IDLE: Duration = Duration::from_secs(2);
/// Capacity of the event subscription.
const EVENTS: usize = 1 << 16;
/// Number of lists by label.
const LISTS: usize = 1001;

/// Measures CPU time and memory of an informer: initial sync, idle, and following updates
#[derive(Parser)]
struct Arguments {
    /// Kubeconfig of the server
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// The resource to cache, such as pods or deployments.apps
    #[arg(long, default_value = "pods")]
    resource: String,
    /// Number of updates to wait for
    #[arg(long, value_name = "N")]
    events: Option<u64>,
    /// The form in which objects are kept
    #[arg(long, value_enum, default_value = "encoded")]
    keep: Kept,
    /// The type of decoded pods
    #[arg(long, value_enum, default_value = "ours")]
    types: Types,
    /// Label selector for lists from the cache, measured last
    #[arg(long, value_name = "SELECTOR")]
    select: Option<LabelSelector>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// Encoded only
    Encoded,
    /// Encoded, and decoded as pods
    Decoded,
}

#[tokio::main]
async fn main() -> ExitCode {
    // Spawned, as it would be in a larger program: `main` does not run on a worker thread of the runtime, and each
    // wake-up of it would cost a thread switch.
    let arguments = Arguments::parse();
    let measured = match arguments.types {
        Types::Ours => tokio::spawn(measure::<api::core::v1::Pod>(arguments)),
        Types::K8sOpenapi => tokio::spawn(measure::<k8s_openapi::api::core::v1::Pod>(arguments)),
    };
    match measured.await.map_err(Into::into).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("informer: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure<P: DeserializeOwned + Send + std::marker::Sync + 'static>(
    arguments: Arguments,
) -> Outcome<()> {
    let sources = Sources::File(arguments.kubeconfig.clone());
    let client = Client::new(&Config::load(&sources, &Overrides::default())?)?;
    let objects = informer(&client, &arguments.resource).await?;
    let mut counted = objects.raw_events(Filter::default(), EVENTS);

    let spent = Spent::now()?;
    objects.start();
    objects.wait_until_ready().await;
    let reader = objects.reader::<P>(match arguments.keep {
        Kept::Encoded => Keep::Encoded,
        Kept::Decoded => Keep::Decoded,
    });
    let mut changes = None;
    if arguments.keep == Kept::Decoded {
        let listed = reader.list(&LabelSelector::default()).items();
        listed.map_err(|error| format!("only pods can be kept decoded: {}", error.first))?;
        changes = Some(reader.changes(SubscriptionOptions::default()));
    }
    let following = tokio::spawn(async move {
        while let Some(changes) = &mut changes {
            if changes.next().await.is_none() {
                return;
            }
        }
    });
    let count = objects.store().snapshot().len();
    let cost = spent.since()?;
    let memory = Memory::read()?;
    let sync = Sync { objects: count, wall: cost.wall, cpu: cost.cpu, memory };
    println!("watchkeeper {}", Report::Sync(sync));

    tokio::time::sleep(IDLE).await;
    skip_pending(&mut counted).await;
    println!("watchkeeper {}", Report::Steady(Memory::read()?));
    if let Some(events) = arguments.events {
        let spent = Spent::now()?;
        count_updates(&mut counted, events).await?;
        let cost = spent.since()?;
        let events = Events { count: events, wall: cost.wall, cpu: cost.cpu };
        println!("watchkeeper {}", Report::Events(events));
    }
    if let Some(labels) = &arguments.select {
        println!("watchkeeper {}", Report::Select(select(&reader, labels)));
    }
    following.abort();
    objects.stop().await;
    Ok(())
}

/// Creates an informer for a resource name as users write it. The informer is not started.
async fn informer(client: &Client, resource: &str) -> Outcome<Informer> {
    let root = RestClient::new(client.transport().clone(), "/", Content::json());
    let found = RestMapper::new(Arc::new(DiscoveryClient::new(root))).argument(resource).await?;
    let (name, kind) = (&found.resource, &found.kind);
    let collection = Collection::new(&name.group, &name.version, &name.resource, &kind.kind);
    let informer = Informer::new(kind.clone().into(), client.source(&collection));
    informer.add_index("node", by_field(kind.clone().into(), "spec.nodeName".parse()?))?;
    Ok(informer)
}

/// Discards the events of the initial list.
async fn skip_pending(events: &mut RawEvents) {
    while events.pending() > 0 {
        events.next().await;
    }
}

/// Waits for `left` updates.
async fn count_updates(events: &mut RawEvents, mut left: u64) -> Outcome<()> {
    while left > 0 {
        match events.next().await {
            Some(RawEvent::Event(Delta::Updated { .. })) => left -= 1,
            Some(RawEvent::Event(_)) => {}
            Some(RawEvent::Lagged(count)) => {
                return Err(format!("the event subscription lagged by {count} events").into());
            }
            None => return Err("the informer stopped".into()),
        }
    }
    Ok(())
}

/// Lists by label repeatedly, and returns the median time.
fn select<P: DeserializeOwned + Send + std::marker::Sync + 'static>(
    reader: &Reader<P>,
    labels: &LabelSelector,
) -> Selected {
    let mut times = Vec::with_capacity(LISTS);
    let mut objects = 0;
    for _ in 0..LISTS {
        let start = Instant::now();
        objects = black_box(reader.list(labels)).partial().0.len();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Selected { objects, each: times[LISTS / 2] }
}
