//! EventRecorder: queues events for a writer.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use watchkeeper_client::Client;
use watchkeeper_client::discovery::{Discovery as _, DiscoveryClient};
use watchkeeper_client::rest::Content;
use watchkeeper_core::{ErrorChain, GroupVersion};

use super::clock::Clock;
use super::event::{Event, Recorded, Source};
use super::metrics::{Counts, Result};
use super::reference::Reference;
use super::sink::{EventSink, ServerSink};
use super::writer::EventWriter;

/// Capacity of the queue (`events.V1`).
const WAITING: usize = 1000;

/// The API group of the events to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventApi {
    /// `v1`, available on every server.
    Core,
    /// `events.k8s.io/v1`.
    Events,
}

/// A recorder of events about objects, on behalf of a component. Clones share the queue.
#[derive(Debug, Clone)]
pub struct EventRecorder {
    source: Arc<Source>,
    clock: Clock,
    queues: Vec<Queue>,
}

/// The queue of one writer.
#[derive(Debug, Clone)]
struct Queue {
    sender: mpsc::Sender<Recorded>,
    counts: Counts,
}

impl EventRecorder {
    /// Creates a recorder that uses `events.k8s.io/v1` if the server has it, and `v1` if it does not or cannot be asked.
    /// Nothing is written until the writer is [run](EventWriter::run).
    pub async fn for_server(client: &Client, component: &str) -> (Self, EventWriter<ServerSink>) {
        let events = GroupVersion { group: "events.k8s.io".to_owned(), version: "v1".to_owned() };
        let discovery = DiscoveryClient::new(client.rest(&events, Content::json()));
        let api = match discovery.resources(&events).await {
            Ok(_) => EventApi::Events,
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "events.k8s.io/v1 not available; writing v1 events");
                EventApi::Core
            }
        };
        Self::new(ServerSink::new(client, api), api, component)
    }

    /// Creates a recorder that writes events of one API to a sink. Nothing is written until the writer is
    /// [run](EventWriter::run).
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

    /// Sets the host. By default `v1` events have none, and others the name of this machine.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        let component = self.source.component.clone();
        let instance = format!("{component}-{host}");
        self.source = Arc::new(Source { component, host: host.to_owned(), instance });
        self
    }

    /// Returns a recorder that also sends events to the writers of `other`, under the name of this one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.queues.extend(other.queues.iter().cloned());
        self
    }

    /// Queues an event about an object, and returns at once. The event is dropped if the queue is full
    /// (`events.V1`).
    pub fn record(&self, regarding: &Reference, event: Event) {
        let Event { event_type, reason, message, .. } = &event;
        let (namespace, name) = (&regarding.namespace, &regarding.name);
        tracing::debug!(
            kind = regarding.kind,
            namespace,
            name,
            ?event_type,
            reason,
            message,
            "recording event"
        );
        let (regarding, source) = (regarding.clone(), self.source.clone());
        let recorded = Recorded { regarding, event, source, at: self.clock.now() };
        for queue in &self.queues {
            let why = match queue.sender.try_send(recorded.clone()) {
                Ok(()) => continue,
                Err(TrySendError::Full(_)) => "queue is full",
                Err(TrySendError::Closed(_)) => "writer has stopped",
            };
            queue.counts.note(Result::Dropped);
            tracing::warn!(event = ?recorded.event, name = recorded.regarding.name, "event dropped: {why}");
        }
    }
}

/// Returns the name of this machine, without a network lookup.
fn host_name() -> String {
    let variable = std::env::var("HOSTNAME").ok();
    let read = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = variable.filter(|name| !name.is_empty()).or_else(read).unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}
