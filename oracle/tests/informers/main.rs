//! Informers in a storm: 10,000 objects on the real kube-apiserver and etcd, writers that do not rest, and every
//! second something that goes wrong. Whenever it is quiet each store is what the server has, object by object, each
//! index is what a scan finds, and each handler was told what can be true, and all of it.
//!
//! `CHAOS_SECONDS` says how long it storms in all, in rounds of 20 s; `CHAOS_SEED` makes the same choices again: what
//! goes wrong and what is written, though not in which moment.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checker;
mod faults;
mod fleet;
mod front;
mod listeners;
mod quiet;
mod random;
mod resources;
mod roads;
mod witness;
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

use faults::{Fault, Faults};
use fleet::Member;
use listeners::{LATE, Listener, ON_PURPOSE};
use random::Random;
use resources::WIDGETS;
use writers::Written;

/// How long it storms in all.
const SECONDS: u64 = 80;
/// How long it storms between two quiet points.
const ROUND: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_and_handlers_agree_with_the_server_whatever_happens() {
    let seed = number("CHAOS_SEED").unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    });
    let seconds = number("CHAOS_SECONDS").unwrap_or(SECONDS);
    println!("CHAOS_SEED={seed} CHAOS_SECONDS={seconds}");
    be_silent_on_purpose();
    Storm::begin(seed).await.rage(Duration::from_secs(seconds)).await;
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Panics of handlers are what is tested: they need not be shown.
fn be_silent_on_purpose() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref() != Some(&ON_PURPOSE) {
            usual(info);
        }
    }));
}

struct Storm {
    seed: u64,
    random: Random,
    faults: Faults,
    /// The writers' way, on which nothing goes wrong.
    client: Client,
    written: Arc<Written>,
    fleet: Vec<Member>,
}

impl Storm {
    async fn begin(seed: u64) -> Self {
        let begun = Instant::now();
        let mut random = Random::new(seed);
        let cluster =
            Cluster::builder().apiserver_arg("--watch-cache-sizes=secrets#0").start().await.unwrap();
        install_widgets(&cluster).await;
        let client = Client::new(&roads::config(&cluster)).unwrap();
        let started = begun.elapsed();
        writers::fill(&client, &mut random).await;
        println!("started after {started:?}, filled after {:?}", begun.elapsed());
        let roads = roads::build(&cluster).await;
        let fleet = fleet::launch(&roads, seed);
        let faults = Faults::new(cluster, roads, random.fork());
        Self { seed, random, faults, client, written: Arc::default(), fleet }
    }

    async fn rage(mut self, time: Duration) {
        let rounds = time.as_secs().div_ceil(ROUND.as_secs()).max(1);
        self.check(0).await; // so that the first lists are in the stores
        for round in 1..=rounds {
            self.storm(ROUND, round % 2 == 1).await;
            self.check(round).await;
        }
        self.weigh();
        for member in &self.fleet {
            member.informer.stop().await;
        }
    }

    /// Everything at once: writers, faults, and somebody who begins to listen only now.
    async fn storm(&mut self, time: Duration, kills: bool) {
        let stop = CancellationToken::new();
        let (mut of_writers, mut of_late) = (self.random.fork(), self.random.fork());
        let Self { faults, fleet, .. } = self;
        let faults = async {
            faults.strike(time, kills).await;
            stop.cancel();
        };
        let late = async {
            for member in fleet {
                sleep(Duration::from_millis(of_late.below(500))).await;
                member.listeners.retain(|listener| listener.name != LATE);
                member.listeners.push(Listener::late(&member.informer));
            }
        };
        let writing = writers::write(&self.client, &mut of_writers, &self.written, &stop);
        tokio::join!(faults, late, writing);
    }

    async fn check(&self, round: u64) {
        let begun = Instant::now();
        let checks = self.fleet.iter().map(|member| quiet::check(member, &self.faults.cluster));
        for (member, outcome) in self.fleet.iter().zip(join_all(checks).await) {
            if let Err(wrong) = outcome {
                let (seed, name, seen) = (self.seed, &member.name, &member.seen);
                let faults = Vec::from_iter(self.faults.last.iter().cloned()).join("\n  ");
                panic!("CHAOS_SEED={seed} round {round}, {name}: {wrong}\n{seen}\nfaults\n  {faults}");
            }
        }
        let objects: usize = self.fleet.iter().map(|member| member.informer.store().snapshot().len()).sum();
        let entries = self.fleet.iter().flat_map(|member| &member.listeners).map(Listener::entries);
        let entries: u64 = entries.sum();
        println!(
            "quiet {round}: {objects} objects and {entries} notifications are right, {:?}",
            begun.elapsed()
        );
    }

    /// That it was a storm.
    fn weigh(&self) {
        let written = self.written.done.load(Ordering::Relaxed);
        let total = |count: fn(&witness::Seen) -> &std::sync::atomic::AtomicU64| -> u64 {
            self.fleet.iter().map(|member| count(&member.seen).load(Ordering::Relaxed)).sum()
        };
        let (lists, watches) = (total(|seen| &seen.lists), total(|seen| &seen.watches));
        println!("{:?}, faults {:?}, {lists} lists, {watches} watches", self.written, self.faults.counts);
        assert!(written > 1000, "only {written} writes");
        assert_eq!(self.faults.counts.len(), Fault::KINDS, "{:?}", self.faults.counts);
        let fleet = self.fleet.len() as u64;
        assert!(lists > 2 * fleet && watches > 2 * fleet, "it was no storm");
    }
}

async fn install_widgets(cluster: &Cluster) {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = Request::post(definitions).header("content-type", "application/json");
    let answer = cluster.send(request.body(Bytes::from_static(WIDGETS.as_bytes())).unwrap()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::CREATED, "{answer:?}");
    let crd = "--for=condition=Established";
    let wait = ["wait", crd, "--timeout=30s", "crd/widgets.chaos.example.com"];
    cluster.kubectl().says(wait, "").await.unwrap();
    // It is established before it is served.
    let widgets = "/apis/chaos.example.com/v1/widgets";
    while cluster.request(Method::GET, widgets, "application/json").await.unwrap().status() != StatusCode::OK
    {
    }
}
