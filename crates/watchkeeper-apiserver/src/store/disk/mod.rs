//! Disk store: everything in memory, and every change in a log on disk before anybody sees it.
//!
//! From: the verbs of [`Store`]. Writes go through one thread, the `writer`; reads and watches are those
//!       of a [`MemoryStore`].
//! To:   a directory, from which the next start recovers the same objects and revisions.
//!
//! ```text
//! DIR/lock                            held while a process uses the directory
//! DIR/log-00000000000000000042       the changes after revision 42, in order
//! DIR/snapshot-00000000000000000042  all objects at revision 42
//! DIR/high-water-mark                how far changes have been acknowledged: see `mark`
//! DIR/keyring                        what the server is known by: see `beside`
//! DIR/*.tmp                          files that were not finished: removed at the next start
//! DIR/*.lost                         files that a start with losses has replaced: see `salvage`
//! ```
//!
//! The state is the newest snapshot (or nothing, at revision 1) and every change in the logs from there
//! on. When the logs have outgrown the objects, a new log is begun and the state at that point is written as a
//! snapshot beside it, while writes go on; then the files that it replaces are removed.
//!
//! **Format**, all numbers little-endian. A file is a header and then records:
//!
//! ```text
//! header   "WKLG" or "WKSN", version u32 = 1, revision u64, crc32 u32 of the 16 bytes before
//! record   "\xd7rec", length u32 of the payload, synced u64, crc32 u32 of the payload,
//!          crc32 u32 of the 20 bytes before, payload
//! payload  1, revision u64, created u64, length u16 and name of the collection, body in JSON
//!          2, revision u64, length u16 and name of the collection, length u16 and namespace, name
//!          3, number of objects u64: the end of a snapshot, after so many records of form 1
//! ```
//!
//! `synced` is how many bytes of the log were known to be on disk when the record was written. It tells a
//! write that a crash has cut short, which nobody was told of and which is cut off, from a record that has
//! been on disk and has changed, which is an error (see `tear`).
//!
//! The mark is on disk before a change is acknowledged. A directory that holds less than its mark says is refused,
//! whatever was deleted, cut off or replaced by an older copy; [`DiskStore::recover`] accepts the loss.
//!
//! - D1: what can be read or watched is on disk, and so is what a write has answered.
//! - D2: changes are decided by the writer alone, each on what all changes before it have left.
//! - D3: the revisions of a snapshot and of the logs after it are without gaps: a file that is missing is noticed.
//! - D4: the last log holds no byte after the last record that is on disk when the next one is written.
//! - D5: a file other than the last log is complete before it has its name.
//!
//! What is not kept: the history. Revisions from before a start answer as compacted ones do.

mod beside;
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
use watchkeeper_core::{Check, ObjectKey};

pub(crate) use beside::Beside;
pub use error::OpenError;
pub use recover::{Cut, Damage, LogContents, Recovery, read_log};
pub use salvage::Loss;

use super::{
    BoxWatch, Collection, Expect, HistoryLimits, MemoryStore, Range, RangeQuery, ReadError, Revision, Store,
    StoreFuture, Stored, Unversioned, WatchError, WatchQuery, WriteError,
};
use directory::Directory;
use files::Files;
use recover::Losses;
use snapshot::{Snapshots, Thresholds};
use writer::{Asked, Command, PROBE_EVERY, Writer};

/// How many writes wait for the writer. Whoever comes when they are so many waits until there are fewer.
const WAITING: usize = 1024;

/// A store in a directory. Dropping it ends the writer and frees the directory, once the writes that were begun are
/// on disk; that may take as long as the disk does.
#[derive(Debug)]
pub struct DiskStore {
    memory: Arc<MemoryStore>,
    recovery: Recovery,
    trouble: Trouble,
    beside: Beside,
    /// `None` while dropping.
    commands: Option<mpsc::Sender<Command>>,
    writer: Option<JoinHandle<()>>,
}

/// How often a failing disk is logged at most: one that is almost full takes small writes and refuses large ones.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Whether writes succeed at present.
#[derive(Debug, Clone, Default)]
struct Trouble(Arc<Mutex<TroubleState>>);

#[derive(Debug, Default)]
struct TroubleState {
    /// Why the last attempt failed; `None` if it succeeded.
    failure: Option<String>,
    /// When a failure was last logged.
    logged: Option<std::time::Instant>,
    /// Whether the end of the failure is to be logged, as its beginning was.
    is_announced: bool,
}

impl Trouble {
    fn get(&self) -> Option<String> {
        self.0.lock().failure.clone()
    }

    /// Sets the outcome of the last attempt. A failure is logged when it begins and when it ends, not for each write.
    fn set(&self, failure: Option<&str>) {
        let mut state = self.0.lock();
        match (&state.failure, failure) {
            (None, Some(failure)) if state.logged.is_none_or(|logged| logged.elapsed() >= LOG_EVERY) => {
                tracing::error!(
                    "cannot write to the data directory: {failure}; writes are refused, and tried again every \
                     {PROBE_EVERY:?}"
                );
                (state.logged, state.is_announced) = (Some(std::time::Instant::now()), true);
            }
            (Some(_), None) if state.is_announced => {
                tracing::warn!("the data directory can be written to again");
                state.is_announced = false;
            }
            _ => {}
        }
        state.failure = failure.map(str::to_owned);
    }
}

impl DiskStore {
    /// Opens the store in a directory, which is created if it does not exist. This reads everything that is there, and
    /// blocks as long as it takes. A directory that has lost acknowledged changes is refused, and left as it is.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(directory: impl AsRef<Path>, limits: HistoryLimits) -> Result<Self, OpenError> {
        let files = Directory::open(directory.as_ref())?;
        Self::on(files, limits, Thresholds::default(), Losses::Refused)
    }

    /// Opens the store in a directory even if it has lost acknowledged changes: keeps what can be read, and logs
    /// what is lost, which [`Recovery::loss`] reports. A directory that has lost nothing is opened as by
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn recover(directory: impl AsRef<Path>, limits: HistoryLimits) -> Result<Self, OpenError> {
        let files = Directory::open(directory.as_ref())?;
        Self::on(files, limits, Thresholds::default(), Losses::Accepted)
    }

    fn on(
        files: impl Files + 'static,
        limits: HistoryLimits,
        thresholds: Thresholds,
        losses: Losses,
    ) -> Result<Self, OpenError> {
        let files: Arc<dyn Files> = Arc::new(files);
        let (recovered, log) = recover::recover(&files, losses)?;
        let (recovery, live_bytes) = (recovered.recovery, recovered.state.live_bytes());
        if let Some(cut) = &recovery.cut {
            tracing::info!("{cut}"); // normal after a crash: the write was never acknowledged
        }
        if let Some(loss) = &recovery.loss {
            tracing::warn!("data directory {} was recovered: {loss}", files.path("").display());
        }
        let memory = Arc::new(recovered.state.objects.finish(limits, recovery.revision));
        let trouble = Trouble::default();
        let snapshots = Snapshots::new(files.clone(), thresholds, live_bytes, recovered.log_bytes);
        let beside = Beside::new(files.clone());
        let (commands, waiting) = mpsc::channel(WAITING);
        let writer = Writer::new(memory.clone(), log, snapshots, trouble.clone());
        let writer = std::thread::Builder::new()
            .name("watchkeeper-disk".to_owned())
            .spawn(move || writer.run(waiting))
            .map_err(|source| OpenError::Io { path: files.path(""), source })?;
        Ok(Self { memory, recovery, trouble, beside, commands: Some(commands), writer: Some(writer) })
    }

    /// What was found when it was opened.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// What is kept in the directory beside the objects.
    pub(crate) fn beside(&self) -> &Beside {
        &self.beside
    }

    /// See [`MemoryStore::trim`].
    pub fn trim(&self) {
        self.memory.trim();
    }

    /// Whether writes can be made: well unless the last attempt failed. While it fails the store tries again by itself.
    pub fn check(&self) -> Check {
        let trouble = self.trouble.clone();
        Check::new("store", move || trouble.get().map_or(Ok(()), Err)).ready_only()
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    async fn write(&self, collection: &Collection, asked: Asked) -> Result<Arc<Stored>, WriteError> {
        let (answer, answered) = oneshot::channel();
        let command = Command { collection: collection.clone(), asked, now: Instant::now(), answer };
        let gone = || WriteError::Unavailable("the writer has ended".into());
        let commands = self.commands.as_ref().ok_or_else(gone)?;
        commands.send(command).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        self.commands = None; // the writer ends with the last command
        if let Some(writer) = self.writer.take() {
            let _panicked = writer.join();
        }
    }
}

impl Store for DiskStore {
    fn get<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>> {
        self.memory.get(collection, key)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>> {
        self.memory.range(query)
    }

    fn put<'a>(
        &'a self,
        collection: &'a Collection,
        value: Unversioned,
        expect: Expect,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move {
            let value = record::readable(collection, &value).map_err(WriteError::NotDurable)?;
            self.write(collection, Asked::Put { value, expect }).await
        })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a Collection,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move { self.write(collection, Asked::Delete { key: key.clone(), at }).await })
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

/// The name of the file with the changes after a revision.
fn log_name(base: Revision) -> String {
    format!("log-{:020}", base.get())
}

/// The name of the file with the objects at a revision.
fn snapshot_name(revision: Revision) -> String {
    format!("snapshot-{:020}", revision.get())
}

/// The name that a file has until it is complete.
fn draft_name(name: &str) -> String {
    format!("{name}.tmp")
}

/// The revision in the name of a file of this kind.
fn revision_in(name: &str, prefix: &str) -> Option<Revision> {
    let digits = name.strip_prefix(prefix)?;
    let is_number = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok().map(Revision::new))?
}

/// What the server is known by: see `beside`.
pub(crate) const KEYRING: &str = "keyring";

const LOG: &str = "log-";
const SNAPSHOT: &str = "snapshot-";
