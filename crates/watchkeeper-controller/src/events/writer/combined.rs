//! Writes `v1` events, one after another.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{EventWriter, Job, WAIT, WriteOutcome, write_with_retries};
use crate::events::core_event::CoreEvent;
use crate::events::correlator::{Correlated, Correlator};
use crate::events::metrics::Result;
use crate::events::sink::EventSink;
use crate::random::jitter;

impl<S: EventSink> EventWriter<S> {
    /// Writes events one at a time. Later ones wait during retries; once the queue is full, recorders drop events.
    pub(super) async fn write_combined(&mut self, stop: &CancellationToken) {
        let mut correlator = Correlator::new(self.spam_key.take());
        while let Some(recorded) = self.next(stop).await {
            let event = CoreEvent::new(&recorded);
            let Some(Correlated { key, event }) =
                correlator.correlate(event, Instant::now(), self.clock.now())
            else {
                self.counts.note(Result::RateLimited);
                continue;
            };
            let (json, patch) = (event.to_json(), event.patch());
            let job = Job {
                namespace: event.namespace(),
                name: &event.name,
                event: &json,
                patch: Some(&patch).filter(|_| event.count > 1),
            };
            // The first delay is random, so that clients that lost the server do not all return at once.
            let wait = |tries| if tries == 1 { WAIT.mul_f64(jitter()) } else { WAIT };
            let result = match write_with_retries(&*self.sink, &job, stop, wait).await {
                WriteOutcome::Written(written) => {
                    let name = written["metadata"]["name"].as_str().unwrap_or(&event.name);
                    let count = written["count"].as_u64().and_then(|count| u32::try_from(count).ok());
                    correlator.written(&key, name, count.unwrap_or(event.count));
                    Result::Written
                }
                WriteOutcome::Rejected => Result::Rejected,
                WriteOutcome::Failed => Result::Failed,
            };
            self.counts.note(result);
        }
    }
}
