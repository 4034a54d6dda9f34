//! Fleet: several processes of the operator, one of which leads.

use std::sync::Arc;
use std::time::Duration;

use operator_example::{Context, MANAGER, controller, informers};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use watchkeeper_cache::reader::GetError;
use watchkeeper_cache::reflector::Backoff;
use watchkeeper_cache::wait::until;
use watchkeeper_client::Config;
use watchkeeper_controller::Manager;
use watchkeeper_controller::events::{EventApi, EventRecorder, ServerSink};
use watchkeeper_controller::leader::{Elector, Lease};
use watchkeeper_kinds::api::coordination::v1;
use watchkeeper_kinds::{Client, TypedFactory, TypedInformer};

use crate::journal::{self, Journal, Journaled};

/// Namespace of the lease.
const NAMESPACE: &str = "default";
/// Lease duration, renew deadline and retry period.
const TIMES: [Duration; 3] =
    [Duration::from_millis(1000), Duration::from_millis(700), Duration::from_millis(100)];
/// Shorter than the default, since faults are injected all the time.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(20),
    factor: 2.0,
    jitter: 1.0,
    cap: Duration::from_millis(400),
    steps: 10,
};
/// Time limit for a new leader.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A fixed number of processes: one that ends is replaced.
pub(crate) struct Fleet {
    config: Config,
    places: Vec<Process>,
    leases: TypedInformer<v1::Lease>,
    spawned: usize,
    pub(crate) journal: Journal,
}

struct Process {
    name: String,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

/// The current leader.
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    pub(crate) token: i32,
    pub(crate) name: String,
}

impl Fleet {
    /// Starts `size` processes. The factory is that of the test.
    pub(crate) fn start(config: &Config, factory: &TypedFactory, size: usize) -> Self {
        let leases = factory.coordination_v1().leases().namespace(NAMESPACE);
        let journal = Journal::default();
        let mut fleet = Self { config: config.clone(), places: Vec::new(), leases, spawned: 0, journal };
        for _ in 0..size {
            let process = fleet.spawn();
            fleet.places.push(process);
        }
        fleet
    }

    /// Waits for a leader with at least this token.
    pub(crate) async fn leader(&self, token: i32) -> Leader {
        let (informer, reader) = (self.leases.informer(), self.leases.lister());
        let leads = until(&informer, Some(TIMEOUT), |_| {
            let leader = reader.namespace(NAMESPACE).get(MANAGER)?.and_then(|lease| {
                let name = lease.spec.holder_identity.as_ref().filter(|name| !name.is_empty())?;
                Some(Leader { token: lease.spec.lease_transitions?, name: name.to_string() })
            });
            Ok::<_, GetError>(leader.filter(|leader| leader.token >= token))
        });
        leads.await.unwrap()
    }

    /// Kills a process: nothing is released or finished.
    pub(crate) async fn kill(&mut self, name: &str) {
        let Some(process) = self.replace(name) else { return };
        process.task.abort();
        let _ = process.task.await;
    }

    /// Stops a process gracefully.
    pub(crate) async fn stop(&mut self, name: &str) {
        let Some(process) = self.replace(name) else { return };
        let _ = process.stop.send(()); // fails if it has ended by itself
        process.task.await.unwrap();
    }

    /// Stops all processes gracefully.
    pub(crate) async fn end(self) {
        for process in self.places {
            let _ = process.stop.send(());
            process.task.await.unwrap();
        }
    }

    /// Replaces a process; returns `None` if there is no process of this name.
    fn replace(&mut self, name: &str) -> Option<Process> {
        let place = self.places.iter().position(|process| name.starts_with(&process.name))?;
        let next = self.spawn();
        Some(std::mem::replace(&mut self.places[place], next))
    }

    fn spawn(&mut self) -> Process {
        self.spawned += 1;
        // The trailing dash keeps any name from being a prefix of another.
        let name = format!("operator-{}-", self.spawned);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(self.config.clone(), name.clone(), self.journal.clone(), stopped));
        Process { name, task, stop }
    }
}

/// Restarts the manager when it ends by itself, as a kubelet would.
async fn run(config: Config, name: String, journal: Journal, mut stopped: oneshot::Receiver<()>) {
    for life in 0.. {
        let process = format!("{name}{life}");
        let manager = manager(&config, &process, &journal);
        // An error: it lost the lease, or could not release it.
        let outcome = manager.run_until(async { drop((&mut stopped).await) }).await;
        if !matches!(stopped.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
            return;
        }
        assert!(outcome.is_err(), "{process} ended by itself");
    }
}

fn manager(config: &Config, process: &str, journal: &Journal) -> Manager {
    let mut config = config.clone();
    config.user_agent = process.to_owned();
    let client = Client::new(&config).unwrap();
    let factory = TypedFactory::from(informers(&client).configure(|_, it| it.backoff(BACKOFF)).build());
    let [lease, renew, retry] = TIMES;
    let elector = Elector::new(Lease::new(&client, NAMESPACE, MANAGER), process).unwrap();
    let mut manager = Manager::new(&factory).elector(elector.times(lease, renew, retry).unwrap());
    let sink = ServerSink::new(&client, EventApi::Events);
    let (recorder, writer) = EventRecorder::new(sink, EventApi::Events, MANAGER);
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    let context = Arc::new(Context::new(&client, &factory, &recorder));
    let journaled = Journaled { context, process: process.to_owned(), journal: journal.clone() };
    manager.add(controller(&factory), journal::reconcile, Arc::new(journaled));
    manager
}
