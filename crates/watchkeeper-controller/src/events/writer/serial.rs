//! Writes `events.k8s.io/v1` events in parallel. The events of one series go to the same worker, in order.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::CancellationToken;

use super::{EventWriter, Job, WAIT, WriteOutcome, write, write_with_retries};
use crate::events::metrics::{Counts, Result};
use crate::events::series::{FINISH, Purpose, REFRESH, Series, Write};
use crate::events::sink::EventSink;
use crate::random::jitter;

/// Number of workers.
const WORKERS: usize = 8;
/// Capacity of each worker's queue. When it is full, the writer waits, and eventually recorders drop events.
const WAITING: usize = 128;

struct Worker<S> {
    sink: Arc<S>,
    series: Arc<Mutex<Series>>,
    counts: Counts,
    stop: CancellationToken,
}

impl<S: EventSink> EventWriter<S> {
    pub(super) async fn write_series(&mut self, stop: &CancellationToken) {
        let series = Arc::new(Mutex::new(Series::new()));
        let (mut workers, mut queues) = (JoinSet::new(), Vec::new());
        for _ in 0..WORKERS {
            let (queue, waiting) = mpsc::channel(WAITING);
            let (sink, counts) = (self.sink.clone(), self.counts.clone());
            let worker = Worker { sink, series: series.clone(), counts, stop: stop.clone() };
            workers.spawn(worker.run(waiting));
            queues.push(queue);
        }
        let hasher = RandomState::new();
        let send = async |writes: Vec<Write>| {
            for write in writes {
                let worker =
                    usize::try_from(hasher.hash_one(&write.key) % WORKERS as u64).unwrap_or_default();
                let _ = queues[worker].send(write).await; // fails only if the worker has panicked
            }
        };
        let begun = Instant::now();
        let mut finish = interval_at(begun + FINISH, FINISH);
        let mut refresh = interval_at(begun + REFRESH, REFRESH);
        loop {
            let writes = tokio::select! {
                biased;
                now = finish.tick() => series.lock().finish(now),
                _ = refresh.tick() => series.lock().refresh(),
                recorded = self.next(stop) => {
                    let Some(recorded) = recorded else { break };
                    let writes = series.lock().observe(&recorded, Instant::now(), self.clock.now());
                    if writes.is_empty() {
                        self.counts.note(Result::Counted);
                    }
                    writes
                }
            };
            send(writes).await;
        }
        let unwritten = series.lock().unwritten();
        send(unwritten).await;
        drop(queues);
        while workers.join_next().await.is_some() {}
    }
}

impl<S: EventSink> Worker<S> {
    async fn run(self, mut waiting: mpsc::Receiver<Write>) {
        while let Some(next) = waiting.recv().await {
            let (event, patch) = (next.event.to_json(), next.event.patch());
            let job = Job {
                namespace: next.event.namespace(),
                name: &next.event.name,
                event: &event,
                patch: patch.as_ref(),
            };
            let outcome = match next.why {
                Purpose::New => {
                    let wait = |_| WAIT.mul_f64(1.0 + 0.25 * jitter());
                    write_with_retries(&*self.sink, &job, &self.stop, wait).await
                }
                Purpose::Refresh | Purpose::Finish => write(&*self.sink, &job).await,
            };
            match (next.why, outcome) {
                (Purpose::Finish, WriteOutcome::Written(_) | WriteOutcome::Rejected) => {
                    self.series.lock().finished(&next);
                }
                (Purpose::New, WriteOutcome::Written(_)) => self.counts.note(Result::Written),
                (Purpose::New, WriteOutcome::Rejected) => self.counts.note(Result::Rejected),
                (Purpose::New, WriteOutcome::Failed) => self.counts.note(Result::Failed),
                (Purpose::Refresh | Purpose::Finish, _) => {} // the next refresh repeats it
            }
        }
    }
}
