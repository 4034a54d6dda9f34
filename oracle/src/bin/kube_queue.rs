//! Measures the scheduler of kube-rs, its equivalent of a work queue: `kube_queue hand-out|delay|follow`.
//! `bench queue` runs it.
//!
//! Keys pass through a channel to the scheduler, and from there to at most `--workers` concurrent futures in one task,
//! as in a kube-rs controller. The controller's runner between the two, which never runs a key twice at once, is
//! private, so this measurement leaves out its cost, in favour of kube-rs. `follow` runs a real controller with a
//! concurrency of 1.

use std::collections::HashMap;
use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser as _;
use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use kube::runtime::watcher;
use kube::{Api, Client, Config};
use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;
use watchkeeper_bench::client::Spent;
use watchkeeper_bench::queue::{Arguments, Job, Lateness, READY, Report, age, delay, key, sent};
use watchkeeper_bench::server::Outcome;

/// Capacity of the channel to the scheduler.
const CHANNEL: usize = 1024;

/// A key that is cheap to clone.
type Key = Arc<str>;

#[tokio::main]
async fn main() -> ExitCode {
    match tokio::spawn(measure(Arguments::parse())).await.map_err(Into::into).flatten() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kube-rs: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: Arguments) -> Outcome<Report> {
    match arguments.job {
        Job::HandOut => hand_out(arguments.keys, arguments.workers).await,
        Job::Delay => delayed(arguments.keys).await,
        Job::Follow => follow(arguments).await,
    }
}

fn keys(count: usize) -> Vec<Key> {
    (0..count).map(key).map(|(namespace, name)| format!("{namespace}/{name}").into()).collect()
}

/// Adds keys from as many tasks as there are workers.
async fn hand_out(count: usize, workers: usize) -> Outcome<Report> {
    let mut keys = keys(count);
    let mut parts = Vec::new();
    for remaining in (1..=workers).rev() {
        parts.push(keys.split_off(keys.len() - keys.len() / remaining));
    }
    let (sender, mut receiver) = mpsc::channel(CHANNEL);
    let spent = Spent::now()?;
    for part in parts {
        let sender = sender.clone();
        tokio::spawn(async move {
            for message in part {
                if sender.send(ScheduleRequest { message, run_at: Instant::now() }).await.is_err() {
                    return;
                }
            }
        });
    }
    let requests = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
    let done = AtomicUsize::new(0);
    let work = |_key: Key| async {
        done.fetch_add(1, Ordering::Relaxed);
    };
    scheduler(requests).take(count).for_each_concurrent(workers, work).await;
    let cost = spent.since()?;
    drop(sender); // only now: the scheduler ends when its last sender is dropped, even if keys are pending
    match done.into_inner() {
        done if done == count => Ok(Report::new("kube-rs", Job::HandOut, count, cost, None)),
        done => Err(format!("{done} of {count} keys were handed out").into()),
    }
}

async fn delayed(count: usize) -> Outcome<Report> {
    let keys = keys(count);
    let mut lateness = HashMap::with_capacity(count);
    let (sender, mut receiver) = mpsc::channel(CHANNEL);
    let spent = Spent::now()?;
    let producer = sender.clone();
    tokio::spawn(async move {
        for (number, key) in keys.into_iter().enumerate() {
            let run_at = Instant::now() + delay(number);
            if producer.send(ScheduleRequest { message: (key, run_at), run_at }).await.is_err() {
                return;
            }
            consume_budget().await;
        }
    });
    let requests = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
    let mut scheduled = std::pin::pin!(scheduler(requests).take(count));
    while let Some((key, run_at)) = scheduled.next().await {
        lateness.insert(key, run_at.elapsed());
    }
    let cost = spent.since()?;
    drop(sender); // as in `hand_out`
    Ok(Report::new("kube-rs", Job::Delay, count, cost, Lateness::of(lateness.into_values().collect())))
}

/// Creates an object before the controller starts, and takes its reconciliation as the sign that the controller is
/// running. Waiting for the controller's store does not work: the controller waits for it too, and the store wakes only
/// the last of the tasks that wait.
async fn follow(arguments: Arguments) -> Outcome<Report> {
    let kubeconfig = Kubeconfig::read_from(arguments.kubeconfig.ok_or("missing --kubeconfig")?)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let mut first = ConfigMap::default();
    first.metadata.name = Some("first".to_owned());
    Api::namespaced(client.clone(), "default").create(&PostParams::default(), &first).await?;
    let (sender, mut ages) = mpsc::unbounded_channel();
    let controller = Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
        .with_config(controller::Config::default().concurrency(1));
    let reconcile = |found: Arc<ConfigMap>, sender: Arc<mpsc::UnboundedSender<_>>| async move {
        let at = found.data.as_ref().and_then(|data| data.get("sent")).map(String::as_str);
        let _ = sender.send(sent(at).map(age)); // fails once the measurement is over
        Ok::<_, Infallible>(Action::await_change())
    };
    let never = |_: Arc<ConfigMap>, error: &Infallible, _: Arc<_>| match *error {};
    tokio::spawn(controller.run(reconcile, never, Arc::new(sender)).for_each(async |_| {}));
    if ages.recv().await != Some(None) {
        return Err("the controller did not reconcile the existing object first".into());
    }
    println!("{READY}");
    let mut late = Vec::new();
    let mut spent = Spent::now()?;
    while late.len() < arguments.keys
        && let Some(age) = ages.recv().await
    {
        if late.is_empty() {
            spent = Spent::now()?;
        }
        late.extend(age);
    }
    Ok(Report::new("kube-rs", Job::Follow, arguments.keys, spent.since()?, Lateness::of(late)))
}
