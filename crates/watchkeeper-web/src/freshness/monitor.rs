//! Monitor: probes the API server and compares the informers with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::Informer;
use watchkeeper_cache::reflector::{Failure, Phase};
use watchkeeper_client::transport::Transport;
use watchkeeper_core::GroupVersionResource;

use super::probe::{Answered, probe, returned};
use super::{Freshness, GRACE, Outage, PROBE_EVERY, Receiver};

/// Interval of checks while informers recover.
const RECOVERY_TICK: Duration = Duration::from_millis(250);
/// Time after an outage during which informers that fail again retry immediately.
const RECOVERY: Duration = Duration::from_secs(30);

/// A function that returns the running informers with their resources. Called with every probe.
pub(super) type Watching = Box<dyn Fn() -> Option<Vec<(GroupVersionResource, Informer)>> + Send>;

/// The owner of the task and of its result.
#[derive(Debug)]
pub(crate) struct Monitor {
    found: watch::Sender<Freshness>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Default for Monitor {
    fn default() -> Self {
        let (found, _) = watch::channel(Freshness::default());
        Self { found, stop: CancellationToken::new(), task: Mutex::default() }
    }
}

impl Monitor {
    /// Starts the task, the first time. It ends when `watching` returns `None`.
    pub(crate) fn start(&self, transport: &Transport, watching: Watching) {
        let (stop, found, transport) = (self.stop.clone(), self.found.clone(), transport.clone());
        let mut task = self.task.lock();
        if task.is_none() && !stop.is_cancelled() {
            *task = Some(tokio::spawn(async move {
                let now = Instant::now();
                let mut state = State {
                    transport,
                    watching,
                    found,
                    answered: now,
                    returned: None,
                    failing: BTreeMap::new(),
                };
                stop.run_until_cancelled(state.run()).await;
            }));
        }
    }

    /// Stops the task, and returns when it has ended.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await; // ended, whether by cancellation or panic
        }
    }

    pub(crate) fn subscribe(&self) -> Receiver {
        self.found.subscribe()
    }

    pub(crate) fn now(&self) -> Freshness {
        self.found.borrow().clone()
    }
}

/// Stops the task.
impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct State {
    transport: Transport,
    watching: Watching,
    found: watch::Sender<Freshness>,
    /// When the server last responded.
    answered: Instant,
    /// When the server returned from the last outage.
    returned: Option<Instant>,
    failing: BTreeMap<GroupVersionResource, Failing>,
}

/// An informer that is not up to date.
struct Failing {
    since: Instant,
    /// The failure after which it last retried; it retries once per failure.
    retried: Option<Arc<Failure>>,
}

impl State {
    async fn run(&mut self) {
        loop {
            match probe(&self.transport).await {
                Ok(Answered::Pooled) => self.answered = Instant::now(),
                Ok(Answered::NewConnection) => {
                    tracing::warn!("connections to the API server are silent; reconnecting");
                    self.reconnect();
                }
                Err(reason) => self.outage(reason).await,
            }
            let Some(watched) = (self.watching)() else { return };
            let recovers = self.returned.is_some_and(|at| at.elapsed() < RECOVERY);
            let stale = self.compare(&watched, recovers);
            let wait = if recovers && !stale.is_empty() { RECOVERY_TICK } else { PROBE_EVERY };
            self.publish(Freshness { server: None, stale });
            sleep(wait).await;
        }
    }

    /// Reports that the server does not respond, and returns once it does (`freshness.F1`, `freshness.F2`).
    async fn outage(&mut self, reason: Arc<str>) {
        tracing::warn!(%reason, "API server unreachable");
        let since = self.answered;
        let publish = |reason: Arc<str>| {
            let server = Some(Outage::new(since, reason));
            self.found.send_if_modified(|found| {
                let differs = found.server != server;
                if differs {
                    *found = Freshness { server: server.clone(), stale: BTreeMap::new() };
                }
                differs
            });
        };
        publish(reason);
        returned(&self.transport, publish).await;
        tracing::info!(after = ?since.elapsed(), "API server reachable again; reconnecting");
        self.reconnect();
    }

    /// Makes all requests use new connections (`freshness.F2`).
    fn reconnect(&mut self) {
        let now = Instant::now();
        (self.answered, self.returned) = (now, Some(now));
        self.transport.retire_connections();
        for (_, informer) in (self.watching)().into_iter().flatten() {
            informer.reconnect();
        }
    }

    /// Returns the resources that are stale although the server responds (`freshness.F2`, `freshness.F3`).
    fn compare(
        &mut self,
        watched: &[(GroupVersionResource, Informer)],
        recovers: bool,
    ) -> BTreeMap<GroupVersionResource, Outage> {
        let before = self.found.borrow().clone();
        let mut stale = BTreeMap::new();
        let mut failing = BTreeMap::new();
        for (resource, informer) in watched {
            let progress = informer.progress();
            let progress = progress.borrow();
            let is_behind = self.returned > progress.last_contact && progress.last_contact.is_some();
            if progress.failure.is_none() && !is_behind {
                continue;
            }
            let first = || Failing { since: Instant::now(), retried: None };
            let mut known = self.failing.remove(resource).unwrap_or_else(first);
            if let (true, Phase::Waiting, Some(failure)) = (recovers, progress.phase, &progress.failure)
                && !known.retried.as_ref().is_some_and(|retried| Arc::ptr_eq(retried, failure))
            {
                informer.reconnect();
                known.retried = Some(failure.clone());
            }
            let reported = before.of(resource).map(|outage| outage.since);
            let since = reported.unwrap_or(known.since);
            if reported.is_some() || since.elapsed() >= GRACE {
                let reason = progress.failure.as_ref().map(|failure| failure.describe());
                let reason = reason.as_deref().unwrap_or("reconnecting");
                stale.insert(resource.clone(), Outage::new(since, reason));
            }
            failing.insert(resource.clone(), known);
        }
        self.failing = failing;
        stale
    }

    fn publish(&self, now: Freshness) {
        self.found.send_if_modified(|found| {
            let differs = *found != now;
            if differs {
                *found = now;
            }
            differs
        });
    }
}
