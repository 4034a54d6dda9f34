//! Fleet: several processes of the operator, of which one works at a time.

use std::time::Duration;

use operator_example::{MANAGER, Websites, informers};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use watchkeeper_cache::reader::GetError;
use watchkeeper_cache::reflector::Backoff;
use watchkeeper_cache::wait::until;
use watchkeeper_client::Config;
use watchkeeper_controller::Manager;
use watchkeeper_controller::events::{EventApi, Recorder, ServerSink};
use watchkeeper_controller::leader::{Elector, Lease};
use watchkeeper_kinds::k8s_openapi::api::coordination::v1;
use watchkeeper_kinds::{Client, TypedFactory, TypedInformer};

use crate::journal::{Journal, Journaled};

/// The namespace of the lease.
const NAMESPACE: &str = "default";
/// How long a lease lasts, how long it is tried to renew it, and how often.
const TIMES: [Duration; 3] =
    [Duration::from_millis(1000), Duration::from_millis(700), Duration::from_millis(100)];
/// With faults all the time the delays of real life would leave nothing else.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(20),
    factor: 2.0,
    jitter: 1.0,
    cap: Duration::from_millis(400),
    steps: 10,
};
/// How long it may take until somebody leads.
const PATIENCE: Duration = Duration::from_secs(20);

/// Processes in places: whoever ends in one is followed by another.
pub(crate) struct Fleet {
    config: Config,
    places: Vec<Process>,
    leases: TypedInformer<v1::Lease>,
    born: usize,
    pub(crate) journal: Journal,
}

struct Process {
    name: String,
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

/// Who leads.
#[derive(Debug, Clone)]
pub(crate) struct Leader {
    pub(crate) token: i32,
    pub(crate) name: String,
}

impl Fleet {
    /// So many processes. The factory is that of who looks on.
    pub(crate) fn start(config: &Config, factory: &TypedFactory, size: usize) -> Self {
        let leases = factory.coordination_v1().leases().namespace(NAMESPACE);
        let journal = Journal::default();
        let mut fleet = Self { config: config.clone(), places: Vec::new(), leases, born: 0, journal };
        for _ in 0..size {
            let process = fleet.bear();
            fleet.places.push(process);
        }
        fleet
    }

    /// Waits until somebody leads who has not led before this token.
    pub(crate) async fn leader(&self, token: i32) -> Leader {
        let (informer, reader) = (self.leases.informer(), self.leases.lister());
        let leads = until(&informer, Some(PATIENCE), |_| {
            let spec = reader.namespace(NAMESPACE).get(MANAGER)?.and_then(|lease| lease.spec.clone());
            let leader = spec.and_then(|spec| {
                let name = spec.holder_identity.filter(|name| !name.is_empty())?;
                Some(Leader { token: spec.lease_transitions?, name })
            });
            Ok::<_, GetError>(leader.filter(|leader| leader.token >= token))
        });
        leads.await.unwrap()
    }

    /// The power of a process fails: nothing is released, nothing is finished.
    pub(crate) async fn kill(&mut self, name: &str) {
        let Some(process) = self.replace(name) else { return };
        process.task.abort();
        let _ = process.task.await;
    }

    /// A process is told to end, and does.
    pub(crate) async fn stop(&mut self, name: &str) {
        let Some(process) = self.replace(name) else { return };
        let _ = process.stop.send(()); // it may have ended by itself
        process.task.await.unwrap();
    }

    /// All are told to end, and do.
    pub(crate) async fn end(self) {
        for process in self.places {
            let _ = process.stop.send(());
            process.task.await.unwrap();
        }
    }

    /// Another in its place; `None` if there is none of this name any more.
    fn replace(&mut self, name: &str) -> Option<Process> {
        let place = self.places.iter().position(|process| name.starts_with(&process.name))?;
        let next = self.bear();
        Some(std::mem::replace(&mut self.places[place], next))
    }

    fn bear(&mut self) -> Process {
        self.born += 1;
        // With a dash, so that no name begins with another.
        let name = format!("operator-{}-", self.born);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(lives(self.config.clone(), name.clone(), self.journal.clone(), stopped));
        Process { name, task, stop }
    }
}

/// Starts again whenever it ends although nobody has said so, as whatever runs processes would.
async fn lives(config: Config, name: String, journal: Journal, mut stopped: oneshot::Receiver<()>) {
    for life in 0.. {
        let who = format!("{name}{life}");
        let manager = manager(&config, &who, &journal);
        // An error: it has lost its leadership, or could not give it up.
        let outcome = manager.run_until(async { drop((&mut stopped).await) }).await;
        if !matches!(stopped.try_recv(), Err(oneshot::error::TryRecvError::Empty)) {
            return;
        }
        assert!(outcome.is_err(), "{who} has ended although nobody said so");
    }
}

fn manager(config: &Config, who: &str, journal: &Journal) -> Manager {
    let mut config = config.clone();
    config.user_agent = who.to_owned();
    let client = Client::new(&config).unwrap();
    let factory = TypedFactory::from(informers(&client).configure(|_, it| it.backoff(BACKOFF)).build());
    let [lease, renew, retry] = TIMES;
    let elector = Elector::new(Lease::new(&client, NAMESPACE, MANAGER), who).unwrap();
    let mut manager = Manager::new(&factory).elector(elector.times(lease, renew, retry).unwrap());
    let sink = ServerSink::new(&client, EventApi::Events);
    let (recorder, writer) = Recorder::new(sink, EventApi::Events, MANAGER);
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    let websites = Websites::new(&client, &factory, &recorder);
    let journaled = Journaled { websites, who: who.to_owned(), journal: journal.clone() };
    manager.add(Websites::controller(&factory), journaled);
    manager
}
