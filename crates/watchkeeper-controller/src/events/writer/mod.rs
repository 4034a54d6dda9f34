//! Writers: those who write what recorders were told.

mod combined;
mod serial;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use watchkeeper_metrics::{RegisterError, Registry};

use super::clock::Clock;
use super::correlator::SpamKey;
use super::metrics::{Counts, Result};
use super::occurrence::{Recorded, Severity};
use super::recorder::EventApi;
use super::reference::Reference;
use super::sink::{EventSink, WriteError};

/// How often an event is tried (V3).
const TRIES: u32 = 12;
/// How long is waited in between.
const WAIT: Duration = Duration::from_secs(10);
/// How long the end may take (V4).
const FLUSH: Duration = Duration::from_secs(5);

/// Writes events. Nothing is written before it [runs](Self::run).
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

    /// Which kind of events it writes.
    pub fn api(&self) -> EventApi {
        self.api
    }

    /// Counts what becomes of events: `event_recorder_events_total`, by the name of the component and by `result`,
    /// which is `written`, `counted`, `dropped` (V1), `spared`, `refused` or `given_up`.
    ///
    /// # Errors
    /// If the name means something else in this registry.
    pub fn metrics(self, registry: &Registry) -> std::result::Result<Self, RegisterError> {
        self.counts.register(registry, &self.name)?;
        Ok(self)
    }

    /// How long the end may take (V4); 5 seconds unless said.
    #[must_use]
    pub fn flush_within(mut self, time: Duration) -> Self {
        self.flush = time;
        self
    }

    /// Which events of `v1` count together where only so many are written; unless said, those of one type of one
    /// object (V2).
    #[must_use]
    pub fn spared_by(
        mut self,
        key: impl Fn(&Reference, Severity, &str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.spam_key = Some(Box::new(move |event| key(&event.involved, event.severity, &event.reason)));
        self
    }

    /// Writes until it is told to stop, or until the last recorder is gone, and then what still waits (V4). Dropped
    /// half-way, what waits is lost.
    pub async fn run(mut self, stop: CancellationToken) {
        let flush = self.flush;
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(flush).await;
        };
        let written = async {
            match self.api {
                EventApi::Core => self.write_combined(&stop).await,
                EventApi::Events => self.write_series(&stop).await,
            }
        };
        let in_time = tokio::select! {
            biased;
            () = written => true,
            () = too_late => false,
        };
        if !in_time {
            let left = self.waiting.len();
            (0..left).for_each(|_| self.counts.note(Result::GivenUp));
            tracing::warn!(name = self.name, left, "events could not be written before the end");
        }
    }

    /// The next that waits; `None` when there will be no more. Cancel safe.
    async fn next(&mut self, stop: &CancellationToken) -> Option<Recorded> {
        tokio::select! {
            biased;
            recorded = self.waiting.recv() => recorded,
            () = stop.cancelled() => {
                self.waiting.close(); // what is there is still received
                self.waiting.recv().await
            }
        }
    }
}

/// What is to be written.
struct Job<'a> {
    namespace: &'a str,
    name: &'a str,
    event: &'a Value,
    /// What changes, if it was written before.
    patch: Option<&'a Value>,
}

/// What came of writing.
enum Wrote {
    /// This is how the server has it.
    Well(Value),
    Refused,
    /// It may be tried again.
    Not,
}

/// Writes an event: what has changed, or all of it if it is new or is not there any more.
async fn write(sink: &impl EventSink, job: &Job<'_>) -> Wrote {
    let mut outcome = match job.patch {
        Some(patch) => sink.patch(job.namespace, job.name, patch).await,
        None => sink.create(job.event).await,
    };
    if let (Some(_), Err(WriteError::Missing(_))) = (job.patch, &outcome) {
        outcome = sink.create(job.event).await;
    }
    let error = match outcome {
        Ok(event) => return Wrote::Well(event),
        Err(error) => error,
    };
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let (namespace, name) = (job.namespace, job.name);
    match error {
        WriteError::Exists(_) => {
            tracing::debug!(namespace, name, source, "there is such an event already");
            // Of a series: somebody has written it since the patch was answered, so that can be tried again.
            if job.patch.is_some() { Wrote::Not } else { Wrote::Refused }
        }
        WriteError::Missing(_) | WriteError::Refused(_) => {
            tracing::warn!(namespace, name, source, "an event was refused, and is not tried again");
            Wrote::Refused
        }
        WriteError::Failed(_) => {
            tracing::warn!(namespace, name, source, "an event was not written, and may be tried again");
            Wrote::Not
        }
    }
}

/// Writes until it is written or refused, or was tried too often. After `stop` nothing is tried again (V3, V4).
async fn write_with_patience(
    sink: &impl EventSink,
    job: &Job<'_>,
    stop: &CancellationToken,
    wait: impl Fn(u32) -> Duration,
) -> Wrote {
    for tries in 1.. {
        match write(sink, job).await {
            Wrote::Not if tries < TRIES => {}
            outcome => return outcome,
        }
        if stop.run_until_cancelled(tokio::time::sleep(wait(tries))).await.is_none() {
            break;
        }
    }
    Wrote::Not
}

impl<S> fmt::Debug for EventWriter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventWriter")
            .field("name", &self.name)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}
