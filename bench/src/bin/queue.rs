//! Question: how much does one job cost Watchkeeper's work queue?
//!
//! Workload: one [`Job`] per process; prints one [`Report`]. Not counted: starting, creating the keys, connecting.
//!
//! ```text
//! cargo run --release -p watchkeeper-bench --bin queue -- hand-out --keys 1000000 --workers 8
//! ```

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::task::coop::consume_budget;
use watchkeeper_bench::client::Spent;
use watchkeeper_bench::queue::{Arguments, Job, Lateness, READY, Report, age, delay, key, sent};
use watchkeeper_bench::server::Outcome;
use watchkeeper_cache::Informer;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::{Action, Controller};
use watchkeeper_core::{Collection, ListWatchFactory as _, ObjectKey};
use watchkeeper_kinds::api::core::v1::ConfigMap;
use watchkeeper_workqueue::WorkQueue;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let measured = match arguments.job {
        Job::HandOut => hand_out(arguments.keys, arguments.workers).await,
        Job::Delay => delayed(arguments.keys).await,
        Job::Follow => tokio::spawn(follow(arguments)).await.map_err(Into::into).flatten(),
    };
    match measured {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("queue: {error}");
            ExitCode::FAILURE
        }
    }
}

fn keys(count: usize) -> Vec<ObjectKey> {
    (0..count).map(key).map(|(namespace, name)| ObjectKey::namespaced(&namespace, &name)).collect()
}

/// Adds `count` keys with `workers` producers, and takes them with as many workers.
async fn hand_out(count: usize, workers: usize) -> Outcome<Report> {
    let mut keys = keys(count);
    let mut parts = Vec::new();
    for left in (1..=workers).rev() {
        parts.push(keys.split_off(keys.len() - keys.len() / left));
    }
    let queue = WorkQueue::new();
    let spent = Spent::now()?;
    let (mut working, mut adding) = (JoinSet::new(), JoinSet::new());
    for part in parts {
        let worked = queue.clone();
        working.spawn(async move {
            let mut done = 0;
            while let Some(item) = worked.get().await {
                drop(item);
                done += 1;
            }
            done
        });
        let queue = queue.clone();
        adding.spawn(async move {
            for key in part {
                queue.add(key);
                consume_budget().await; // as in a task that waits for changes
            }
        });
    }
    while adding.join_next().await.is_some() {}
    queue.shut_down_with_drain().await;
    let cost = spent.since()?;
    let done: usize = working.join_all().await.into_iter().sum();
    assert_eq!(done, count, "queue.Q2");
    Ok(Report::new("watchkeeper", Job::HandOut, count, cost, None))
}

async fn delayed(count: usize) -> Outcome<Report> {
    let keys = keys(count);
    let queue = WorkQueue::new();
    let mut late = Vec::with_capacity(count);
    let spent = Spent::now()?;
    let worked = queue.clone();
    let working = tokio::spawn(async move {
        while late.len() < count
            && let Some(item) = worked.get().await
        {
            let (_, due): &(_, Instant) = &item;
            late.push(due.elapsed());
        }
        late
    });
    let adding = tokio::spawn(async move {
        for (number, key) in keys.into_iter().enumerate() {
            let delay = delay(number);
            queue.add_after((key, Instant::now() + delay), delay);
            consume_budget().await;
        }
    });
    adding.await?;
    let late = working.await?;
    Ok(Report::new("watchkeeper", Job::Delay, count, spent.since()?, Lateness::of(late)))
}

/// Runs a controller for config maps with one worker.
async fn follow(arguments: Arguments) -> Outcome<Report> {
    let sources = Sources::File(arguments.kubeconfig.ok_or("--kubeconfig is required")?);
    let client = Client::new(&Config::load(&sources, &Overrides::default())?)?;
    let collection = Collection::CONFIG_MAPS;
    let objects = Informer::new(collection.kind().into(), client.source(&collection));
    objects.start();
    objects.wait_until_ready().await;
    let (sender, mut ages) = mpsc::unbounded_channel();
    let reconcile = |map: Arc<ConfigMap>, sender: Arc<mpsc::UnboundedSender<Duration>>| async move {
        if let Some(sent) = sent(map.data.get("sent").map(|at| at.as_str())) {
            let _ = sender.send(age(sent)); // fails once the job is done
        }
        Ok(Action::await_change())
    };
    let controller = Controller::new("bench", &objects);
    let running = tokio::spawn(controller.run(reconcile, Arc::new(sender), std::future::pending::<()>()));
    println!("{READY}");
    let mut late: Vec<Duration> = Vec::new();
    let mut spent = Spent::now()?;
    while late.len() < arguments.keys
        && let Some(one) = ages.recv().await
    {
        if late.is_empty() {
            spent = Spent::now()?;
        }
        late.push(one);
    }
    let cost = spent.since()?;
    running.abort();
    objects.stop().await;
    Ok(Report::new("watchkeeper", Job::Follow, arguments.keys, cost, Lateness::of(late)))
}
