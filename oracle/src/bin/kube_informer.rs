//! A reflector of kube-rs with its store, measured: `kube_informer --kubeconfig PATH`. `bench informer` runs it.
//!
//! It is as kube-rs has it by default: lists of 500 and a watch, both as JSON, and no index, since there are none.

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

/// How long it rests before its memory is read.
const REST: Duration = Duration::from_secs(2);
/// How often to list by a label.
const LISTS: usize = 101;

/// Measures kube-rs's reflector of pods
#[derive(Parser)]
struct Arguments {
    /// How to reach the server
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// How many updates to wait for
    #[arg(long, value_name = "N", default_value_t = 0)]
    events: u64,
    /// A label by which to list in the end: `key=value`
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
    while !matches!(events.next().await.ok_or("the watch has ended")??, Event::InitDone) {}
    let cost = spent.since()?;
    let objects = store.len();
    let sync = Sync { objects, wall: cost.wall, cpu: cost.cpu, memory: Memory::read()? };
    println!("kube-rs {}", Report::Sync(sync));

    tokio::time::sleep(REST).await;
    println!("kube-rs {}", Report::Steady(Memory::read()?));
    if arguments.events > 0 {
        let spent = Spent::now()?;
        let mut left = arguments.events;
        while left > 0 {
            if let Event::Apply(_) = events.next().await.ok_or("the watch has ended")?? {
                left -= 1;
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

/// Lists by a label over and over: half of the lists take longer than this.
fn select(store: &Store<Pod>, key: &str, value: &str) -> Selected {
    let has = |labels: &BTreeMap<String, String>| labels.get(key).is_some_and(|found| found == value);
    let mut times = Vec::with_capacity(LISTS);
    let mut objects = 0;
    for _ in 0..LISTS {
        let begun = Instant::now();
        let mut found = store.state();
        found.retain(|pod| pod.metadata.labels.as_ref().is_some_and(has));
        objects = black_box(found).len();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Selected { objects, each: times[LISTS / 2] }
}
