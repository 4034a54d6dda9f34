//! Measures a kube-rs reflector and its store: `kube_informer --kubeconfig PATH`. `bench informer` runs it.
//!
//! Uses the defaults of kube-rs: pages of 500 objects, then a watch, both in JSON. kube-rs stores have no indexes.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Config};
use watchkeeper_bench::client::Spent;
use watchkeeper_bench::informer::{Events, Memory, Report, Selected, Sync};
use watchkeeper_bench::server::Outcome;

/// The idle time before memory is measured.
const IDLE: Duration = Duration::from_secs(2);
/// The number of lists by label selector.
const LISTS: usize = 101;

/// Measures kube-rs's reflector of pods
#[derive(Parser)]
struct Arguments {
    /// Path of the kubeconfig
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// Number of updates to wait for
    #[arg(long, value_name = "N", default_value_t = 0)]
    events: u64,
    /// Label selector to list by at the end: `key=value`
    #[arg(long, value_name = "SELECTOR")]
    select: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match tokio::spawn(measure(Arguments::parse())).await.map_err(Into::into).flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kube-rs: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: Arguments) -> Outcome<()> {
    let kubeconfig = Kubeconfig::read_from(&arguments.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let pods = Api::<Pod>::all(Client::try_from(config)?);
    let (store, writer) = reflector::store();
    let events = watch(pods, watcher::Config::default()).default_backoff().reflect(writer);
    let mut events = pin!(events);

    let spent = Spent::now()?;
    while !matches!(events.next().await.ok_or("watch ended")??, Event::InitDone) {}
    let cost = spent.since()?;
    let objects = store.len();
    let sync = Sync { objects, wall: cost.wall, cpu: cost.cpu, memory: Memory::read()? };
    println!("kube-rs {}", Report::Sync(sync));

    tokio::time::sleep(IDLE).await;
    println!("kube-rs {}", Report::Steady(Memory::read()?));
    if arguments.events > 0 {
        let spent = Spent::now()?;
        let mut remaining = arguments.events;
        while remaining > 0 {
            if let Event::Apply(_) = events.next().await.ok_or("watch ended")?? {
                remaining -= 1;
            }
        }
        let cost = spent.since()?;
        let events = Events { count: arguments.events, wall: cost.wall, cpu: cost.cpu };
        println!("kube-rs {}", Report::Events(events));
    }
    if let Some((key, value)) = arguments.select.as_deref().and_then(|selector| selector.split_once('=')) {
        println!("kube-rs {}", Report::Select(select(&store, key, value)));
    }
    Ok(())
}

/// Lists by label repeatedly, and returns the number of matching objects and the median time of a list.
fn select(store: &Store<Pod>, key: &str, value: &str) -> Selected {
    let matches = |labels: &BTreeMap<String, String>| labels.get(key).is_some_and(|found| found == value);
    let mut times = Vec::with_capacity(LISTS);
    let mut objects = 0;
    for _ in 0..LISTS {
        let started = Instant::now();
        let mut found = store.state();
        found.retain(|pod| pod.metadata.labels.as_ref().is_some_and(matches));
        objects = black_box(found).len();
        times.push(started.elapsed());
    }
    times.sort_unstable();
    Selected { objects, each: times[LISTS / 2] }
}
