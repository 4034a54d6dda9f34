//! Disk store: keeps everything in memory, and writes every change to a log on disk before it becomes visible.
//!
//! Input: the methods of [`Store`]. One thread, the `writer`, makes all writes; reads and watches are served by a
//! [`MemoryStore`].
//! Output: a directory, from which the next start recovers the same objects and revisions.
//!
//! ```text
//! DIR/lock                            held while a process uses the directory
//! DIR/log-00000000000000000042       the changes after revision 42, in order
//! DIR/snapshot-00000000000000000042  all objects at revision 42
//! DIR/high-water-mark                the position up to which changes are acknowledged: see `mark`
//! DIR/keyring                        keys and certificates of the server: see `side_file`
//! DIR/*.tmp                          unfinished files, removed at the next start
//! DIR/*.lost                         files replaced when a loss was accepted: see `salvage`
//! ```
//!
//! The state is the newest snapshot (or nothing, at revision 1) plus every change in the logs from there on. When the
//! logs have outgrown the objects, a new log is started and the state at that point is written to a snapshot while
//! writes continue; then the files it replaces are removed.
//!
//! **Format**, all numbers little-endian. A file is a header and then records:
//!
//! ```text
//! header   "WKLG" or "WKSN", version u32 = 1, revision u64, crc32 u32 of the 16 bytes before
//! record   "\xd7rec", length u32 of the payload, synced u64, crc32 u32 of the payload,
//!          crc32 u32 of the 20 bytes before, payload
//! payload  1, revision u64, created u64, length u16 and name of the collection, body in JSON
//!          2, revision u64, length u16 and name of the collection, length u16 and namespace, name
//!          3, number of objects u64: the end of a snapshot, after that many records of type 1
//! ```
//!
//! `synced` is the number of bytes of the log known to be on disk when the record was written. It distinguishes a
//! write that a crash interrupted, which was never acknowledged and is cut off, from a record that was on disk and
//! has changed, which is an error (see `tear`).
//!
//! The mark is on disk before a change is acknowledged. A directory that ends before its mark is refused, whether
//! files were deleted, truncated or replaced by older copies; [`DiskStore::recover`] accepts the loss.
//!
//! Invariants:
//! - `disk.D1`: what can be read or watched is on disk, and so is every acknowledged write.
//! - `disk.D2`: only the writer decides changes, each on the state that all changes before it have left.
//! - `disk.D3`: the revisions of a snapshot and of the logs after it have no gaps, so a missing file is noticed.
//! - `disk.D4`: when a record is written, the last log holds no byte after the last record that is on disk.
//! - `disk.D5`: a file other than the last log is complete before it gets its name.
//!
//! The history is not persisted: revisions from before a start are compacted.

mod contents;
mod directory;
mod error;
mod files;
mod frame;
mod log;
mod mark;
mod record;
mod recover;
mod replay;
mod salvage;
mod side_file;
mod snapshot;
mod tear;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use watchkeeper_core::{HealthCheck, ObjectKey};

pub use error::OpenError;
pub use recover::{Cut, Damage, LogContents, Recovery, read_log};
pub use salvage::Loss;
pub use side_file::SideFile;

use super::{
    BoxWatch, CollectionId, HistoryLimits, MemoryStore, Precondition, Range, RangeQuery, ReadError, Revision,
    Store, StoreFuture, Stored, Unversioned, WatchError, WatchQuery, WriteError,
};
use directory::Directory;
use files::Files;
use recover::LossPolicy;
use snapshot::{Snapshots, Thresholds};
use writer::{Command, Operation, PROBE_EVERY, Writer};

/// Capacity of the channel to the writer. When it is full, writes wait.
const WAITING: usize = 1024;

/// A store in a directory. Dropping it stops the writer and releases the directory once pending writes are on disk,
/// and blocks until then.
#[derive(Debug)]
pub struct DiskStore {
    memory: Arc<MemoryStore>,
    recovery: Recovery,
    health: WriteHealth,
    keyring: SideFile,
    /// `None` while dropping.
    commands: Option<mpsc::Sender<Command>>,
    writer: Option<JoinHandle<()>>,
}

/// Minimum interval between log messages about a failing disk: an almost full disk accepts small writes and refuses
/// large ones.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The outcome of the last attempt to write to disk.
#[derive(Debug, Clone, Default)]
struct WriteHealth(Arc<Mutex<WriteHealthState>>);

#[derive(Debug, Default)]
struct WriteHealthState {
    /// The error of the last attempt; `None` if it succeeded.
    failure: Option<String>,
    /// The time of the last log message about a failure.
    logged: Option<std::time::Instant>,
    /// Whether the beginning of the failure was logged, so that its end must be too.
    is_announced: bool,
}

impl WriteHealth {
    fn get(&self) -> Option<String> {
        self.0.lock().failure.clone()
    }

    /// Records the outcome of an attempt. Logs when failures begin and end, not for each write.
    fn set(&self, failure: Option<&str>) {
        let mut state = self.0.lock();
        match (&state.failure, failure) {
            (None, Some(failure)) if state.logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) => {
                tracing::error!(
                    "failed to write to the data directory: {failure}; refusing writes and retrying every \
                     {PROBE_EVERY:?}"
                );
                (state.logged, state.is_announced) = (Some(std::time::Instant::now()), true);
            }
            (Some(_), None) if state.is_announced => {
                tracing::warn!("the data directory can be written to again; accepting writes");
                state.is_announced = false;
            }
            _ => {}
        }
        state.failure = failure.map(str::to_owned);
    }
}

impl DiskStore {
    /// Opens the store in a directory, creating it if necessary. Reads everything in it, and blocks until done. A
    /// directory that has lost acknowledged changes is refused and left unmodified.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(directory: impl AsRef<Path>, limits: HistoryLimits) -> Result<Self, OpenError> {
        let files = Directory::open(directory.as_ref())?;
        Self::on(files, limits, Thresholds::default(), LossPolicy::Refused)
    }

    /// Opens the store in a directory even if it has lost acknowledged changes: keeps what can be read, and logs the
    /// loss, which [`Recovery::loss`] reports. Without a loss this is [`open`](Self::open).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn recover(directory: impl AsRef<Path>, limits: HistoryLimits) -> Result<Self, OpenError> {
        let files = Directory::open(directory.as_ref())?;
        Self::on(files, limits, Thresholds::default(), LossPolicy::Accepted)
    }

    fn on(
        files: impl Files + 'static,
        limits: HistoryLimits,
        thresholds: Thresholds,
        losses: LossPolicy,
    ) -> Result<Self, OpenError> {
        let files: Arc<dyn Files> = Arc::new(files);
        let (recovered, log) = recover::recover(&files, losses)?;
        let (recovery, live_bytes) = (recovered.recovery, recovered.state.live_bytes());
        if let Some(cut) = &recovery.cut {
            tracing::info!("{cut}"); // expected after a crash: the write was never acknowledged
        }
        if let Some(loss) = &recovery.loss {
            tracing::warn!("data directory {} was recovered: {loss}", files.path("").display());
        }
        let memory = Arc::new(recovered.state.objects.finish(limits, recovery.revision));
        let health = WriteHealth::default();
        let snapshots = Snapshots::new(files.clone(), thresholds, live_bytes, recovered.log_bytes);
        let keyring = SideFile::new(files.clone(), KEYRING);
        let (commands, waiting) = mpsc::channel(WAITING);
        let writer = Writer::new(memory.clone(), log, snapshots, health.clone());
        let writer = std::thread::Builder::new()
            .name("watchkeeper-disk".to_owned())
            .spawn(move || writer.run(waiting))
            .map_err(|source| OpenError::Io { path: files.path(""), source })?;
        Ok(Self { memory, recovery, health, keyring, commands: Some(commands), writer: Some(writer) })
    }

    /// Returns what was found when the store was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Returns the file for the keys and certificates of the server that owns the directory.
    pub fn keyring(&self) -> &SideFile {
        &self.keyring
    }

    /// See [`MemoryStore::trim`].
    pub fn trim(&self) {
        self.memory.trim();
    }

    /// Returns a readiness check that fails while writes fail. The store keeps retrying by itself.
    pub fn check(&self) -> HealthCheck {
        let health = self.health.clone();
        HealthCheck::new("store", move || health.get().map_or(Ok(()), Err)).ready_only()
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    async fn write(
        &self,
        collection: &CollectionId,
        operation: Operation,
    ) -> Result<Arc<Stored>, WriteError> {
        let (answer, answered) = oneshot::channel();
        let command = Command { collection: collection.clone(), operation, now: Instant::now(), answer };
        let gone = || WriteError::Unavailable("writer has stopped".into());
        let commands = self.commands.as_ref().ok_or_else(gone)?;
        commands.send(command).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.commands = None; // the writer stops after the last command
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

impl Store for DiskStore {
    fn get<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>> {
        self.memory.get(collection, key)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>> {
        self.memory.range(query)
    }

    fn put<'a>(
        &'a self,
        collection: &'a CollectionId,
        value: Unversioned,
        expect: Precondition,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move {
            let value = record::readable(collection, &value).map_err(WriteError::NotDurable)?;
            self.write(collection, Operation::Put { value, expect }).await
        })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.write(collection, Operation::Delete { key: key.clone(), at }).await })
    }

    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>> {
        self.memory.watch(query)
    }

    fn compact(&self, revision: Revision) -> StoreFuture<'_, Result<(), ReadError>> {
        self.memory.compact(revision)
    }

    fn current(&self) -> StoreFuture<'_, Result<Revision, ReadError>> {
        self.memory.current()
    }

    fn wait_for(&self, revision: Revision) -> StoreFuture<'_, Result<Revision, ReadError>> {
        self.memory.wait_for(revision)
    }
}

/// Returns the name of the log that follows a revision.
fn log_name(base: Revision) -> String {
    format!("log-{:020}", base.get())
}

/// Returns the name of the snapshot at a revision.
fn snapshot_name(revision: Revision) -> String {
    format!("snapshot-{:020}", revision.get())
}

/// Returns the name of a file while it is incomplete.
fn draft_name(name: &str) -> String {
    format!("{name}.tmp")
}

/// Returns the revision in the name of a file with this prefix.
fn revision_in(name: &str, prefix: &str) -> Option<Revision> {
    let digits = name.strip_prefix(prefix)?;
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok().map(Revision::new))?
}

/// The file with the server's keys and certificates: see `side_file`.
const KEYRING: &str = "keyring";

const LOG: &str = "log-";
const SNAPSHOT: &str = "snapshot-";
