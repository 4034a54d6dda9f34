//! Faults: every second something goes wrong.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};
use watchkeeper_oracle::{Client, Cluster};
use watchkeeper_testkit::{Direction, NetworkFault};

use crate::front::Refusal;
use crate::random::Random;
use crate::roads::Road;

/// How long a road stays as bad as it is, at most.
const LONGEST: u64 = 3;
/// How many faults are shown where something is wrong.
const SHOWN: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Connections end as by a server that ends.
    Cut,
    /// Connections are gone.
    Reset,
    /// New connections break off within an answer.
    BreakOff,
    /// Nothing arrives, and nobody is told.
    Stall,
    /// Answers come in small pieces.
    Trickle,
    /// Nobody listens.
    Refuse,
    /// The server is busy, or says that it cannot.
    Answer,
    /// The history is forgotten up to now.
    Compact,
    /// The server is killed, and started again.
    Kill,
}

impl Fault {
    const OFTEN: [Self; 8] = [
        Self::Cut,
        Self::Reset,
        Self::BreakOff,
        Self::Stall,
        Self::Trickle,
        Self::Refuse,
        Self::Answer,
        Self::Compact,
    ];
    pub(crate) const KINDS: usize = Self::OFTEN.len() + 1;
}

/// Whoever makes things go wrong.
pub(crate) struct Faults {
    pub(crate) cluster: Cluster,
    pub(crate) roads: Vec<Road>,
    random: Random,
    /// What is to come next, before anything comes again.
    next: Vec<Fault>,
    /// What has gone wrong, and how often.
    pub(crate) counts: BTreeMap<Fault, u64>,
    /// When and where, lately.
    pub(crate) last: VecDeque<String>,
}

impl Faults {
    pub(crate) fn new(cluster: Cluster, roads: Vec<Road>, random: Random) -> Self {
        Self { cluster, roads, random, next: Vec::new(), counts: BTreeMap::new(), last: VecDeque::new() }
    }

    /// Makes things go wrong for so long, and in the middle kills the server if asked to. Afterwards nothing is
    /// wrong any more.
    pub(crate) async fn strike(&mut self, time: Duration, kills: bool) {
        let begun = Instant::now();
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut bad_for = vec![0; self.roads.len()];
        let mut may_kill = kills;
        while begun.elapsed() < time {
            ticks.tick().await;
            for (road, left) in self.roads.iter().zip(&mut bad_for) {
                if *left == 1 {
                    road.heal().await;
                }
                *left = u64::saturating_sub(*left, 1);
            }
            let place = usize::try_from(self.random.below(self.roads.len() as u64)).unwrap();
            let kill = may_kill && begun.elapsed() > time / 2;
            may_kill &= !kill;
            let fault = if kill { Fault::Kill } else { self.draw() };
            if self.inflict(fault, place).await {
                bad_for[place] = 1 + self.random.below(LONGEST);
                *self.counts.entry(fault).or_default() += 1;
                self.remember(format!(
                    "after {:.1} s on road {place}: {fault:?}",
                    begun.elapsed().as_secs_f64()
                ));
            } else {
                self.next.insert(0, fault);
            }
        }
        for road in &self.roads {
            road.heal().await;
        }
    }

    fn draw(&mut self) -> Fault {
        if self.next.is_empty() {
            self.next.extend(Fault::OFTEN);
        }
        let place = self.random.below(self.next.len() as u64);
        self.next.remove(usize::try_from(place).unwrap())
    }

    fn remember(&mut self, what: String) {
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back(what);
    }

    /// Returns whether it could be done there.
    async fn inflict(&mut self, fault: Fault, place: usize) -> bool {
        let Road { proxy, front, .. } = &self.roads[place];
        let bytes = self.random.below(300_000);
        match fault {
            Fault::Cut => return proxy.inject(NetworkFault::cut()) > 0,
            Fault::Reset => return proxy.inject(NetworkFault::reset().after(bytes / 100)) > 0,
            Fault::BreakOff => {
                proxy.inject_on_connect(NetworkFault::reset().after(bytes));
                proxy.inject(NetworkFault::cut());
            }
            Fault::Stall => {
                let way = if self.random.once_in(4) { Direction::Both } else { Direction::Responses };
                return proxy.inject(NetworkFault::stall(way).after(bytes / 100)) > 0;
            }
            Fault::Trickle => {
                proxy.inject(NetworkFault::trickle(1000, Duration::from_millis(10)));
            }
            Fault::Refuse => {
                proxy.refuse().await.unwrap();
                proxy.inject(NetworkFault::reset());
            }
            Fault::Answer => {
                let Some(front) = front else { return false };
                let code = *self.random.pick(&[429, 500, 503]);
                let retry_after = self.random.once_in(2).then_some(1);
                front.refuse(Refusal { code, retry_after, times: 5 });
                proxy.inject(NetworkFault::cut());
            }
            Fault::Compact => compact(&self.cluster).await,
            Fault::Kill => {
                self.cluster.kill_apiserver().unwrap();
                self.cluster.start_apiserver().await.unwrap();
            }
        }
        true
    }
}

/// Has etcd forget what is not the newest.
async fn compact(cluster: &Cluster) {
    let etcd = Client::new(cluster.etcd_url(), None, "nobody").unwrap();
    let ask = async |path: &str, question: Value| -> Value {
        let request = Request::post(path).body(Bytes::from(question.to_string())).unwrap();
        let answer = etcd.send(request).await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        serde_json::from_slice(answer.body()).unwrap()
    };
    let found = ask("/v3/kv/range", json!({"key": "AA=="})).await;
    let revision = found["header"]["revision"].as_str().unwrap();
    ask("/v3/kv/compaction", json!({"revision": revision})).await;
}
