//! Informers under fault injection: 10,000 objects on the real kube-apiserver and etcd, continuous writes, and one
//! injected fault per second. Between rounds, when nothing is written and no fault is active, the test checks that each
//! store equals the server's state, object by object, that each index agrees with a full scan, and that each handler
//! received a consistent and complete sequence of notifications.
//!
//! `CHAOS_SECONDS` sets the total time with faults, which runs in rounds of 20 s. `CHAOS_SEED` repeats the choices of
//! faults and writes, but not their exact timing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checker;
mod consistency;
mod faults;
mod handlers;
mod random;
mod recorder;
mod resources;
mod reverse_proxy;
mod test_informers;
mod transports;
mod writers;

use std::panic;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Method, Request, StatusCode};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::Client;
use watchkeeper_oracle::Cluster;

use faults::{Fault, FaultInjector};
use handlers::{DELIBERATE_PANIC, LATE, RecordingHandler};
use random::Random;
use resources::WIDGETS;
use test_informers::TestInformer;
use writers::WriteCounts;

/// Default total time with faults.
const SECONDS: u64 = 80;
/// Time with faults between two checks.
const ROUND: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_and_handlers_agree_with_the_server_under_fault_injection() {
    let seed = number("CHAOS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    let seconds = number("CHAOS_SECONDS").unwrap_or(SECONDS);
    println!("CHAOS_SEED={seed} CHAOS_SECONDS={seconds}");
    silence_deliberate_panics();
    ChaosTest::start(seed).await.run(Duration::from_secs(seconds)).await;
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("invalid {name}: {text:?}")))
}

/// Keeps the deliberate panics of handlers out of the output.
fn silence_deliberate_panics() {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&DELIBERATE_PANIC) {
            default_hook(info);
        }
    }));
}

struct ChaosTest {
    seed: u64,
    random: Random,
    faults: FaultInjector,
    /// The writers' client. It connects directly, without injected network faults.
    client: Client,
    writes: Arc<WriteCounts>,
    informers: Vec<TestInformer>,
}

impl ChaosTest {
    async fn start(seed: u64) -> Self {
        let started = Instant::now();
        let mut random = Random::new(seed);
        let cluster =
            Cluster::builder().apiserver_arg("--watch-cache-sizes=secrets#0").start().await.unwrap();
        install_widgets(&cluster).await;
        let client = Client::new(&transports::config(&cluster)).unwrap();
        let cluster_ready = started.elapsed();
        writers::fill(&client, &mut random).await;
        println!("cluster ready after {cluster_ready:?}, objects created after {:?}", started.elapsed());
        let transports = transports::start(&cluster).await;
        let informers = test_informers::start(&transports, seed);
        let faults = FaultInjector::new(cluster, transports, random.fork());
        Self { seed, random, faults, client, writes: Arc::default(), informers }
    }

    async fn run(mut self, time: Duration) {
        let rounds = time.as_secs().div_ceil(ROUND.as_secs()).max(1);
        self.check(0).await; // waits until every store has its first list
        for round in 1..=rounds {
            self.inject_faults(ROUND, round % 2 == 1).await;
            self.check(round).await;
        }
        self.assert_enough_happened();
        for test in &self.informers {
            test.informer.stop().await;
        }
    }

    /// Runs writers and faults at the same time, and replaces the late handler of each informer.
    async fn inject_faults(&mut self, time: Duration, kill_apiserver: bool) {
        let stop = CancellationToken::new();
        let (mut writer_random, mut late_random) = (self.random.fork(), self.random.fork());
        let Self { faults, informers, .. } = self;
        let faults = async {
            faults.run(time, kill_apiserver).await;
            stop.cancel();
        };
        let late_handlers = async {
            for test in informers {
                sleep(Duration::from_millis(late_random.below(500))).await;
                test.handlers.retain(|handler| handler.name != LATE);
                test.handlers.push(RecordingHandler::late(&test.informer));
            }
        };
        let writing = writers::write(&self.client, &mut writer_random, &self.writes, &stop);
        tokio::join!(faults, late_handlers, writing);
    }

    async fn check(&self, round: u64) {
        let started = Instant::now();
        let checks = self.informers.iter().map(|test| consistency::check(test, &self.faults.cluster));
        for (test, outcome) in self.informers.iter().zip(join_all(checks).await) {
            if let Err(violation) = outcome {
                let (seed, name, log) = (self.seed, &test.name, &test.log);
                let faults = Vec::from_iter(self.faults.recent.iter().cloned()).join("\n  ");
                panic!("CHAOS_SEED={seed} round {round}, {name}: {violation}\n{log}\nfaults\n  {faults}");
            }
        }
        let objects: usize = self.informers.iter().map(|test| test.informer.store().snapshot().len()).sum();
        let handlers = self.informers.iter().flat_map(|test| &test.handlers);
        let notifications: u64 = handlers.map(RecordingHandler::notifications).sum();
        println!(
            "check {round}: {objects} objects and {notifications} notifications are correct, {:?}",
            started.elapsed()
        );
    }

    /// Checks that the test did enough writes, faults, relists and rewatches to mean something.
    fn assert_enough_happened(&self) {
        let succeeded = self.writes.succeeded.load(Ordering::Relaxed);
        let total = |count: fn(&recorder::ReflectorLog) -> &std::sync::atomic::AtomicU64| -> u64 {
            self.informers.iter().map(|test| count(&test.log).load(Ordering::Relaxed)).sum()
        };
        let (lists, watches) = (total(|log| &log.lists), total(|log| &log.watches));
        println!("{:?}, faults {:?}, {lists} lists, {watches} watches", self.writes, self.faults.counts);
        assert!(succeeded > 1000, "only {succeeded} writes");
        assert_eq!(self.faults.counts.len(), Fault::KINDS, "{:?}", self.faults.counts);
        let informers = self.informers.len() as u64;
        assert!(
            lists > 2 * informers && watches > 2 * informers,
            "too few relists and rewatches: {lists} lists, {watches} watches"
        );
    }
}

async fn install_widgets(cluster: &Cluster) {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = Request::post(definitions).header("content-type", "application/json");
    let response = cluster.send(request.body(Bytes::from_static(WIDGETS.as_bytes())).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED, "{response:?}");
    let crd = "--for=condition=Established";
    let wait = ["wait", crd, "--timeout=30s", "crd/widgets.chaos.example.com"];
    cluster.kubectl().stdout(wait, "").await.unwrap();
    // The condition is set before the server serves the resource.
    let widgets = "/apis/chaos.example.com/v1/widgets";
    while cluster.request(Method::GET, widgets, "application/json").await.unwrap().status() != StatusCode::OK
    {
    }
}
