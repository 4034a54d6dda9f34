//! Recorders: whom one tells.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use watchkeeper_client::Client;
use watchkeeper_client::discovery::{Discovery as _, DiscoveryClient};
use watchkeeper_client::rest::Content;
use watchkeeper_core::GroupVersion;

use super::clock::Clock;
use super::metrics::{Counts, Result};
use super::occurrence::{Occurrence, Recorded, Source};
use super::reference::Reference;
use super::sink::{EventSink, ServerSink};
use super::writer::EventWriter;

/// So many events wait to be written (V1).
const WAITING: usize = 1000;

/// Which of the two kinds of events is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventApi {
    /// `v1`, which every server has.
    Core,
    /// `events.k8s.io/v1`.
    Events,
}

/// Records what happens to objects. Clones are of the same recorder.
#[derive(Debug, Clone)]
pub struct Recorder {
    source: Arc<Source>,
    clock: Clock,
    queues: Vec<Queue>,
}

/// The way to one writer.
#[derive(Debug, Clone)]
struct Queue {
    sender: mpsc::Sender<Recorded>,
    counts: Counts,
}

impl Recorder {
    /// Of a component, by the newer API if the server has it. The writer has to be [run](EventWriter::run).
    pub async fn for_server(client: &Client, component: &str) -> (Self, EventWriter<ServerSink>) {
        let events = GroupVersion { group: "events.k8s.io".to_owned(), version: "v1".to_owned() };
        let discovery = DiscoveryClient::new(client.rest(&events, Content::json()));
        let api = match discovery.resources(&events).await {
            Ok(_) => EventApi::Events,
            Err(_) => EventApi::Core,
        };
        Self::new(ServerSink::new(client, api), api, component)
    }

    /// Of a component, to a sink that takes events of this kind. The writer has to be [run](EventWriter::run).
    pub fn new<S: EventSink>(sink: S, api: EventApi, component: &str) -> (Self, EventWriter<S>) {
        let (sender, waiting) = mpsc::channel(WAITING);
        let (clock, counts) = (Clock::new(), Counts::default());
        let source = Source {
            component: component.to_owned(),
            host: String::new(),
            instance: format!("{component}-{}", host_name()),
        };
        let writer = EventWriter::new(sink, api, component, waiting, clock.clone(), counts.clone());
        (Self { source: Arc::new(source), clock, queues: vec![Queue { sender, counts }] }, writer)
    }

    /// On this host. Unless said, `v1` events do not say where, and others have the name of this machine.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        let component = self.source.component.clone();
        let instance = format!("{component}-{host}");
        self.source = Arc::new(Source { component, host: host.to_owned(), instance });
        self
    }

    /// One that records to the writers of both, in the name of this one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.queues.extend(other.queues.iter().cloned());
        self
    }

    /// Something has happened to an object. It is written when it is its turn; if too many wait it is dropped (V1).
    pub fn record(&self, regarding: &Reference, occurrence: Occurrence) {
        let Occurrence { severity, reason, message, .. } = &occurrence;
        let (namespace, name) = (&regarding.namespace, &regarding.name);
        tracing::debug!(kind = regarding.kind, namespace, name, ?severity, reason, message, "an event");
        let (regarding, source) = (regarding.clone(), self.source.clone());
        let recorded = Recorded { regarding, occurrence, source, at: self.clock.now() };
        for queue in &self.queues {
            let why = match queue.sender.try_send(recorded.clone()) {
                Ok(()) => continue,
                Err(TrySendError::Full(_)) => "too many wait",
                Err(TrySendError::Closed(_)) => "its writer has ended",
            };
            queue.counts.note(Result::Dropped);
            tracing::warn!(event = ?recorded.occurrence, name = recorded.regarding.name, "an event is dropped: {why}");
        }
    }
}

/// As far as this machine says it without asking the network.
fn host_name() -> String {
    let said = std::env::var("HOSTNAME").ok();
    let read = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = said.filter(|name| !name.is_empty()).or_else(read).unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}
