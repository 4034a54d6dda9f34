//! Writers: write queued events to a sink.

mod combined;
mod serial;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use watchkeeper_core::ErrorChain;
use watchkeeper_metrics::{RegisterError, Registry};

use super::clock::Clock;
use super::correlator::SpamKey;
use super::event::{EventType, Recorded};
use super::metrics::{Counts, Result};
use super::recorder::EventApi;
use super::reference::Reference;
use super::sink::{EventSink, WriteError};

/// Maximum attempts per event (`events.V3`).
const TRIES: u32 = 12;
/// Delay between attempts.
const WAIT: Duration = Duration::from_secs(10);
/// Default time limit of the final flush (`events.V4`).
const FLUSH: Duration = Duration::from_secs(5);

/// A writer of the events that recorders queue. Nothing is written before [`run`](Self::run).
pub struct EventWriter<S> {
    sink: Arc<S>,
    api: EventApi,
    name: String,
    waiting: mpsc::Receiver<Recorded>,
    clock: Clock,
    counts: Counts,
    flush: Duration,
    spam_key: Option<Box<SpamKey>>,
}

impl<S: EventSink> EventWriter<S> {
    pub(super) fn new(
        sink: S,
        api: EventApi,
        component: &str,
        waiting: mpsc::Receiver<Recorded>,
        clock: Clock,
        counts: Counts,
    ) -> Self {
        let (sink, name) = (Arc::new(sink), component.to_owned());
        Self { sink, api, name, waiting, clock, counts, flush: FLUSH, spam_key: None }
    }

    /// Returns the API whose events it writes.
    pub fn api(&self) -> EventApi {
        self.api
    }

    /// Registers `event_recorder_events_total`, labelled with the name of the component and a `result`:
    /// `written`, `counted`, `dropped` (`events.V1`), `rate_limited`, `rejected` (by the server) or `failed`.
    ///
    /// # Errors
    /// Returns an error if a metric of the same name but another type is registered.
    pub fn metrics(self, registry: &Registry) -> std::result::Result<Self, RegisterError> {
        self.counts.register(registry, &self.name)?;
        Ok(self)
    }

    /// Sets the time limit of the final flush (`events.V4`). Defaults to 5 seconds.
    #[must_use]
    pub fn flush_within(mut self, time: Duration) -> Self {
        self.flush = time;
        self
    }

    /// Sets which `v1` events share a rate limit: those for which `key` returns the same string. Defaults to
    /// events of the same type about the same object (`events.V2`).
    #[must_use]
    pub fn spam_key(
        mut self,
        key: impl Fn(&Reference, EventType, &str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.spam_key = Some(Box::new(move |event| key(&event.involved, event.event_type, &event.reason)));
        self
    }

    /// Writes events until `stop` is cancelled or the last recorder is dropped, then flushes the queue
    /// (`events.V4`). If the future is dropped, queued events are lost.
    pub async fn run(mut self, stop: CancellationToken) {
        let flush = self.flush;
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(flush).await;
        };
        let write_all = async {
            match self.api {
                EventApi::Core => self.write_combined(&stop).await,
                EventApi::Events => self.write_series(&stop).await,
            }
        };
        let in_time = tokio::select! {
            biased;
            () = write_all => true,
            () = too_late => false,
        };
        if !in_time {
            let left = self.waiting.len();
            (0..left).for_each(|_| self.counts.note(Result::Failed));
            tracing::warn!(name = self.name, left, "events not written before shutdown; dropping them");
        }
    }

    /// Returns the next queued event, or `None` after the last one. Cancel safe.
    async fn next(&mut self, stop: &CancellationToken) -> Option<Recorded> {
        tokio::select! {
            biased;
            recorded = self.waiting.recv() => recorded,
            () = stop.cancelled() => {
                self.waiting.close(); // queued events are still received
                self.waiting.recv().await
            }
        }
    }
}

/// An event to write.
struct Job<'a> {
    namespace: &'a str,
    name: &'a str,
    event: &'a Value,
    /// The patch to send if the event was written before.
    patch: Option<&'a Value>,
}

/// The outcome of a write.
enum WriteOutcome {
    /// The event as stored.
    Written(Value),
    Rejected,
    /// May be retried.
    Failed,
}

/// Writes an event: patches it, or creates it if it is new or was deleted.
async fn write(sink: &impl EventSink, job: &Job<'_>) -> WriteOutcome {
    let mut outcome = match job.patch {
        Some(patch) => sink.patch(job.namespace, job.name, patch).await,
        None => sink.create(job.event).await,
    };
    if let (Some(_), Err(WriteError::Missing(_))) = (job.patch, &outcome) {
        outcome = sink.create(job.event).await;
    }
    let error = match outcome {
        Ok(event) => return WriteOutcome::Written(event),
        Err(error) => error,
    };
    let source = std::error::Error::source(&error).map(|source| ErrorChain(source).to_string());
    let (namespace, name) = (job.namespace, job.name);
    match error {
        WriteError::Exists(_) => {
            tracing::debug!(namespace, name, source, "event already exists");
            // In a series: it was created since the patch failed, so a retry can patch it.
            if job.patch.is_some() { WriteOutcome::Failed } else { WriteOutcome::Rejected }
        }
        WriteError::Missing(_) | WriteError::Rejected(_) => {
            tracing::warn!(namespace, name, source, "event rejected; not retrying");
            WriteOutcome::Rejected
        }
        WriteError::Failed(_) => {
            tracing::warn!(namespace, name, source, "failed to write event; may be retried");
            WriteOutcome::Failed
        }
    }
}

/// Writes an event with retries. After `stop` is cancelled it does not retry (`events.V3`, `events.V4`).
async fn write_with_retries(
    sink: &impl EventSink,
    job: &Job<'_>,
    stop: &CancellationToken,
    wait: impl Fn(u32) -> Duration,
) -> WriteOutcome {
    for tries in 1.. {
        match write(sink, job).await {
            WriteOutcome::Failed if tries < TRIES => {}
            outcome => return outcome,
        }
        if stop.run_until_cancelled(tokio::time::sleep(wait(tries))).await.is_none() {
            break;
        }
    }
    WriteOutcome::Failed
}

impl<S> fmt::Debug for EventWriter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter")
            .field("name", &self.name)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
