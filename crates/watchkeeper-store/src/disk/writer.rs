//! Writer: the single thread that makes changes.
//!
//! Input: commands, which queue in a channel while a batch is being written.
//! Output: the [log](super::log), one sync per batch; then memory; then the callers.
//!
//! Commands that arrive while a batch is being written share the next sync; a lone writer pays one sync per write.
//! After a failed write the writer checks every [`PROBE_EVERY`] whether the disk accepts writes again.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use watchkeeper_core::ObjectKey;

use super::WriteHealth;
use super::frame::push;
use super::log::Log;
use super::record;
use super::snapshot::{Snapshots, kept_bytes};
use crate::memory::Change;
use crate::{CollectionId, MemoryStore, Precondition, Revision, Stored, Unversioned, WriteError};

/// Approximate maximum of commands and of bytes per sync.
const BATCH_COMMANDS: usize = 1024;
const BATCH_BYTES: usize = 8 << 20;

/// The interval at which a failed disk is retried while no writes arrive.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1000 });
/// A retry writes at most this many bytes: a disk that accepts them accepts any single object.
const PROBE_BYTES: usize = 2 << 20;

/// A write, and the channel for its result.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) collection: CollectionId,
    pub(super) operation: Operation,
    /// The time of the request, on the caller's clock.
    pub(super) now: Instant,
    pub(super) answer: oneshot::Sender<Result<Arc<Stored>, WriteError>>,
}

#[derive(Debug)]
pub(super) enum Operation {
    Put { value: Unversioned, expect: Precondition },
    Delete { key: ObjectKey, at: Option<Revision> },
}

impl Operation {
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Put { value, .. } => value.key(),
            Self::Delete { key, .. } => key,
        }
    }

    /// Decides the change at the next revision; returns `None` if the precondition fails.
    fn decide(&self, existing: Option<&Arc<Stored>>, revision: Revision) -> Option<Change> {
        match self {
            Self::Put { value, expect } => {
                let created = existing.map_or(revision, |existing| existing.created());
                let fits = expect.allows(existing.map(|existing| &**existing));
                fits.then(|| Change::Put(Arc::new(value.commit(created, revision))))
            }
            Self::Delete { at, .. } => {
                let last = existing.filter(|existing| at.is_none_or(|at| existing.modified() == at))?;
                Some(Change::Delete { last: last.clone(), revision })
            }
        }
    }
}

/// Owns the log.
#[derive(Debug)]
pub(super) struct Writer {
    memory: Arc<MemoryStore>,
    log: Log,
    snapshots: Snapshots,
    health: WriteHealth,
    /// The size in bytes of the last failed batch; `None` while writes succeed.
    failed: Option<usize>,
}

impl Writer {
    pub(super) fn new(memory: Arc<MemoryStore>, log: Log, snapshots: Snapshots, health: WriteHealth) -> Self {
        Self { memory, log, snapshots, health, failed: None }
    }

    /// Writes until all senders are dropped.
    pub(super) fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        self.snapshots.turn(&self.memory, &mut self.log);
        while let Some(first) = self.wait(&mut commands) {
            let mut batch = Batch::new(self.memory.newest(), self.log.synced());
            let mut next = Some(first);
            while let Some(command) = next {
                batch.stage(&self.memory, command);
                next = if batch.is_full() { None } else { commands.try_recv().ok() };
            }
            self.commit(batch);
            self.snapshots.turn(&self.memory, &mut self.log);
        }
        self.snapshots.finish();
    }

    /// Waits for the next command, and meanwhile probes a disk that has failed.
    fn wait(&mut self, commands: &mut mpsc::Receiver<Command>) -> Option<Command> {
        while let Some(bytes) = self.failed {
            if let Poll::Ready(command) = receive_within(PROBE_EVERY, commands) {
                return command;
            }
            let probed = self.log.probe(bytes.min(PROBE_BYTES));
            self.record_attempt(bytes, probed);
        }
        commands.blocking_recv()
    }

    /// Records the outcome of an attempt to write, and returns the error.
    fn record_attempt(&mut self, bytes: usize, outcome: io::Result<()>) -> Option<String> {
        let failure = outcome.err().map(|error| format!("{}: {error}", self.log.name()));
        self.failed = failure.is_some().then_some(bytes);
        self.health.set(failure.as_deref());
        failure
    }

    fn commit(&mut self, batch: Batch) {
        let Batch { revision, records, added, removed, staged, pending, .. } = batch;
        let failure = if records.is_empty() {
            None // every command was a conflict
        } else {
            let outcome = self.log.commit(&records, revision);
            self.record_attempt(records.len(), outcome)
        };
        if failure.is_none() {
            self.snapshots.record(records.len(), added, removed);
        }
        drop(pending);
        let answers: Vec<_> = staged
            .into_iter()
            .map(|Staged { answer, outcome }| match (outcome, &failure) {
                (Outcome::Conflict { current, is_known: true }, _)
                | (Outcome::Conflict { current, .. }, None) => {
                    (answer, Err(WriteError::Conflict { current }))
                }
                (_, Some(failure)) => (answer, Err(WriteError::NotDurable(failure.clone().into()))),
                (Outcome::Change { collection, change, now }, None) => {
                    (answer, Ok(self.memory.apply(&collection, change, now))) // disk.D1
                }
            })
            .collect();
        for (answer, result) in answers {
            let _ = answer.send(result); // fails if the caller no longer waits
        }
    }
}

/// Waits for the next command for at most `time`; returns `None` once all senders are dropped.
fn receive_within(time: Duration, commands: &mut mpsc::Receiver<Command>) -> Poll<Option<Command>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut received = pin!(commands.recv());
    let deadline = std::time::Instant::now() + time;
    loop {
        if let Poll::Ready(command) = received.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Poll::Ready(command);
        }
        match deadline.checked_duration_since(std::time::Instant::now()) {
            Some(left) if !left.is_zero() => std::thread::park_timeout(left),
            _ => return Poll::Pending,
        }
    }
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Writes that share a sync.
struct Batch {
    /// The revision of the last change.
    revision: Revision,
    synced: u64,
    records: Vec<u8>,
    /// The bytes by which these changes grow and shrink a snapshot.
    added: u64,
    removed: u64,
    staged: Vec<Staged>,
    /// `disk.D2`: the states that these changes will leave, by key.
    pending: HashMap<(CollectionId, ObjectKey), Option<Arc<Stored>>>,
}

struct Staged {
    answer: oneshot::Sender<Result<Arc<Stored>, WriteError>>,
    outcome: Outcome,
}

enum Outcome {
    Change {
        collection: CollectionId,
        change: Change,
        now: Instant,
    },
    /// `is_known` if `current` is already on disk, whatever happens to this batch.
    Conflict {
        current: Option<Arc<Stored>>,
        is_known: bool,
    },
}

impl Batch {
    fn new(revision: Revision, synced: u64) -> Self {
        let (staged, pending) = (Vec::new(), HashMap::new());
        Self { revision, synced, records: Vec::new(), added: 0, removed: 0, staged, pending }
    }

    fn is_full(&self) -> bool {
        self.staged.len() >= BATCH_COMMANDS || self.records.len() >= BATCH_BYTES
    }

    /// Decides a command on the state that all commands before it leave (`disk.D2`).
    fn stage(&mut self, memory: &MemoryStore, command: Command) {
        let Command { collection, operation, now, answer } = command;
        let place = (collection, operation.key().clone());
        let pending = self.pending.get(&place);
        let is_known = pending.is_none();
        let existing = pending.cloned().unwrap_or_else(|| memory.newest_of(&place.0, &place.1));
        let revision = Revision::new(self.revision.get() + 1);
        let Some(change) = operation.decide(existing.as_ref(), revision) else {
            let outcome = Outcome::Conflict { current: existing, is_known };
            return self.staged.push(Staged { answer, outcome });
        };
        let collection = place.0.clone();
        self.removed += existing.map_or(0, |existing| kept_bytes(&collection, &existing));
        match &change {
            Change::Put(stored) => {
                push(&mut self.records, self.synced, |out| record::put(out, &collection, stored));
                self.added += kept_bytes(&collection, stored);
                self.pending.insert(place, Some(stored.clone()));
            }
            Change::Delete { last, .. } => {
                push(&mut self.records, self.synced, |out| {
                    record::delete(out, &collection, last.key(), revision);
                });
                self.pending.insert(place, None);
            }
        }
        self.revision = revision;
        self.staged.push(Staged { answer, outcome: Outcome::Change { collection, change, now } });
    }
}
