//! Fault injector: one fault per second, on a random transport or on the server.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval};
use watchkeeper_oracle::{Client, Cluster};
use watchkeeper_testkit::{Direction, NetworkFault};

use crate::random::Random;
use crate::reverse_proxy::InjectedError;
use crate::transports::Transport;

/// Maximum duration of a transport fault, in seconds.
const MAX_SECONDS: u64 = 3;
/// Number of recent faults in a failure message.
const SHOWN: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Open connections are closed, as by a server that shuts down.
    Cut,
    /// Open connections are reset.
    Reset,
    /// New connections are reset in the middle of a response.
    ResetNew,
    /// Open connections stop delivering data without being closed.
    Stall,
    /// Responses arrive slowly, in small chunks.
    Trickle,
    /// New connections are refused.
    Refuse,
    /// Requests fail with 429, 500 or 503.
    HttpError,
    /// etcd is compacted up to the current revision.
    Compact,
    /// kube-apiserver is killed and restarted.
    Kill,
}

impl Fault {
    const FREQUENT: [Self; 8] = [
        Self::Cut,
        Self::Reset,
        Self::ResetNew,
        Self::Stall,
        Self::Trickle,
        Self::Refuse,
        Self::HttpError,
        Self::Compact,
    ];
    pub(crate) const KINDS: usize = Self::FREQUENT.len() + 1;
}

/// Injects faults, and records them.
pub(crate) struct FaultInjector {
    pub(crate) cluster: Cluster,
    pub(crate) transports: Vec<Transport>,
    random: Random,
    /// Faults still to inject before any is repeated.
    pending: Vec<Fault>,
    /// Number of faults injected, by kind.
    pub(crate) counts: BTreeMap<Fault, u64>,
    /// Descriptions of the most recent faults.
    pub(crate) recent: VecDeque<String>,
}

impl FaultInjector {
    pub(crate) fn new(cluster: Cluster, transports: Vec<Transport>, random: Random) -> Self {
        Self {
            cluster,
            transports,
            random,
            pending: Vec::new(),
            counts: BTreeMap::new(),
            recent: VecDeque::new(),
        }
    }

    /// Injects faults for this time, and kills the server halfway through if `kill_apiserver` is set. Removes all
    /// faults before it returns.
    pub(crate) async fn run(&mut self, time: Duration, kill_apiserver: bool) {
        let started = Instant::now();
        let mut ticks = interval(Duration::from_secs(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seconds_left = vec![0; self.transports.len()];
        let mut may_kill = kill_apiserver;
        while started.elapsed() < time {
            ticks.tick().await;
            for (transport, left) in self.transports.iter().zip(&mut seconds_left) {
                if *left == 1 {
                    transport.heal().await;
                }
                *left = u64::saturating_sub(*left, 1);
            }
            let target = usize::try_from(self.random.below(self.transports.len() as u64)).unwrap();
            let kill = may_kill && started.elapsed() > time / 2;
            may_kill &= !kill;
            let fault = if kill { Fault::Kill } else { self.next_fault() };
            if self.inject(fault, target).await {
                seconds_left[target] = 1 + self.random.below(MAX_SECONDS);
                *self.counts.entry(fault).or_default() += 1;
                self.remember(format!(
                    "after {:.1} s on transport {target}: {fault:?}",
                    started.elapsed().as_secs_f64()
                ));
            } else {
                self.pending.insert(0, fault);
            }
        }
        for transport in &self.transports {
            transport.heal().await;
        }
    }

    fn next_fault(&mut self) -> Fault {
        if self.pending.is_empty() {
            self.pending.extend(Fault::FREQUENT);
        }
        let index = self.random.below(self.pending.len() as u64);
        self.pending.remove(usize::try_from(index).unwrap())
    }

    fn remember(&mut self, description: String) {
        if self.recent.len() == SHOWN {
            self.recent.pop_front();
        }
        self.recent.push_back(description);
    }

    /// Injects a fault. Returns false if it does not apply to this transport, or no connection is open.
    async fn inject(&mut self, fault: Fault, target: usize) -> bool {
        let Transport { proxy, reverse_proxy, .. } = &self.transports[target];
        let bytes = self.random.below(300_000);
        match fault {
            Fault::Cut => return proxy.inject(NetworkFault::cut()) > 0,
            Fault::Reset => return proxy.inject(NetworkFault::reset().after(bytes / 100)) > 0,
            Fault::ResetNew => {
                proxy.inject_on_connect(NetworkFault::reset().after(bytes));
                proxy.inject(NetworkFault::cut());
            }
            Fault::Stall => {
                let direction = if self.random.one_in(4) { Direction::Both } else { Direction::Responses };
                return proxy.inject(NetworkFault::stall(direction).after(bytes / 100)) > 0;
            }
            Fault::Trickle => {
                proxy.inject(NetworkFault::trickle(1000, Duration::from_millis(10)));
            }
            Fault::Refuse => {
                proxy.refuse().await.unwrap();
                proxy.inject(NetworkFault::reset());
            }
            Fault::HttpError => {
                let Some(reverse_proxy) = reverse_proxy else { return false };
                let code = *self.random.pick(&[429, 500, 503]);
                let retry_after = self.random.one_in(2).then_some(1);
                reverse_proxy.inject(InjectedError { code, retry_after, times: 5 });
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

/// Compacts etcd up to its current revision.
async fn compact(cluster: &Cluster) {
    let etcd = Client::new(cluster.etcd_url(), None, "nobody").unwrap();
    let post = async |path: &str, body: Value| -> Value {
        let request = Request::post(path).body(Bytes::from(body.to_string())).unwrap();
        let response = etcd.send(request).await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        serde_json::from_slice(response.body()).unwrap()
    };
    let range = post("/v3/kv/range", json!({"key": "AA=="})).await;
    let revision = range["header"]["revision"].as_str().unwrap();
    post("/v3/kv/compaction", json!({"revision": revision})).await;
}
