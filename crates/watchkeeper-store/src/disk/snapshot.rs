//! Snapshots: all objects in one file, replacing the logs that led to them.
//!
//! Input: the [writer](super::writer), between two batches.
//! Output: a thread that writes the shared, immutable state of that moment while the writer continues in a new log.
//! The files that the snapshot replaces are removed once it is on disk.
//!
//! A failed snapshot loses nothing, since the logs still hold everything. It is retried after they have grown.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::files::Files;
use super::frame::{FileKind, HEADER, file_header, push};
use super::log::Log;
use super::record::{end, put, put_length};
use super::{LOG, SNAPSHOT, draft_name, revision_in, snapshot_name};
use crate::memory::Snapshot;
use crate::{CollectionId, MemoryStore, Revision, Stored};

/// The number of bytes per write.
const CHUNK: usize = 1 << 20;

/// A snapshot is due when the logs exceed both thresholds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thresholds {
    /// The size of the logs relative to that of the objects.
    pub(super) factor: u64,
    /// The size of the logs in bytes.
    pub(super) least: u64,
}

/// A start reads at most about five times the necessary bytes, and each logged byte costs a quarter of a byte in
/// snapshots; below 16 MiB neither matters.
impl Default for Thresholds {
    fn default() -> Self {
        Self { factor: 4, least: 16 << 20 }
    }
}

/// Returns the number of bytes an object occupies in a snapshot.
pub(super) fn kept_bytes(collection: &CollectionId, stored: &Stored) -> u64 {
    (HEADER + put_length(collection, stored)) as u64
}

/// Decides when a snapshot is due, and starts it.
#[derive(Debug)]
pub(super) struct Snapshots {
    files: Arc<dyn Files>,
    thresholds: Thresholds,
    /// The size of a snapshot of the current state, in bytes.
    live_bytes: u64,
    /// The size of the logs that no snapshot replaces yet, in bytes.
    log_bytes: u64,
    /// After a failure, no snapshot is started until the logs exceed this size in bytes.
    not_before: u64,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    thread: JoinHandle<io::Result<()>>,
    /// The number of log bytes it replaces.
    replaces: u64,
}

impl Snapshots {
    pub(super) fn new(
        files: Arc<dyn Files>,
        thresholds: Thresholds,
        live_bytes: u64,
        log_bytes: u64,
    ) -> Self {
        Self { files, thresholds, live_bytes, log_bytes, not_before: 0, running: None }
    }

    /// Records the bytes logged, and the change in the size of the objects.
    pub(super) fn record(&mut self, bytes: usize, added: u64, removed: u64) {
        self.log_bytes += bytes as u64;
        self.live_bytes = (self.live_bytes + added).saturating_sub(removed);
    }

    /// Starts a snapshot and a new log if one is due. The caller is the only writer, and memory and logs agree.
    pub(super) fn turn(&mut self, memory: &MemoryStore, log: &mut Log) {
        if let Some(running) = self.running.take_if(|running| running.thread.is_finished()) {
            self.join(running);
        }
        let due = self.thresholds.least.max(self.live_bytes.saturating_mul(self.thresholds.factor));
        if self.running.is_some() || self.log_bytes <= due.max(self.not_before) {
            return;
        }
        if let Err(error) = self.begin(memory, log) {
            self.defer(&error);
        }
    }

    /// Waits for the snapshot in progress, if any.
    pub(super) fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            self.join(running);
        }
    }

    fn begin(&mut self, memory: &MemoryStore, log: &mut Log) -> io::Result<()> {
        let revision = memory.newest();
        log.rotate(&self.files, revision)?;
        let (files, live) = (self.files.clone(), memory.live());
        let thread = std::thread::Builder::new()
            .name("watchkeeper-snapshot".to_owned())
            .spawn(move || write(&*files, revision, &live))?;
        self.running = Some(Running { thread, replaces: self.log_bytes });
        Ok(())
    }

    fn join(&mut self, running: Running) {
        match running.thread.join() {
            Ok(Ok(())) => {
                self.log_bytes -= running.replaces;
                self.not_before = 0;
            }
            Ok(Err(error)) => self.defer(&error),
            Err(_panicked) => self.defer(&io::Error::other("the snapshot thread panicked")),
        }
    }

    fn defer(&mut self, error: &io::Error) {
        tracing::warn!(%error, directory = %self.files.path("").display(), "failed to write a snapshot of the store; retrying when the log has grown");
        self.not_before = self.log_bytes + self.thresholds.least.max(self.live_bytes);
    }
}

/// Writes all objects at a revision, and removes the files that this replaces.
fn write(files: &dyn Files, revision: Revision, live: &[(CollectionId, Snapshot)]) -> io::Result<()> {
    create(files, revision, live)?;
    for name in files.list()? {
        let is_before = |prefix| revision_in(&name, prefix).is_some_and(|other| other < revision);
        if is_before(LOG) || is_before(SNAPSHOT) {
            files.remove(&name)?;
        }
    }
    Ok(())
}

/// Writes all objects at a revision. They are on disk when this returns.
pub(super) fn create(
    files: &dyn Files,
    revision: Revision,
    live: &[(CollectionId, Snapshot)],
) -> io::Result<()> {
    let name = snapshot_name(revision);
    let draft = draft_name(&name);
    let written = fill(files, &draft, revision, live).and_then(|()| {
        files.rename(&draft, &name)?; // disk.D5
        files.sync()
    });
    if written.is_err() {
        let _may_not_be_there = files.remove(&draft);
    }
    written
}

fn fill(
    files: &dyn Files,
    name: &str,
    revision: Revision,
    live: &[(CollectionId, Snapshot)],
) -> io::Result<()> {
    let mut file = files.create(name)?;
    let mut bytes = file_header(FileKind::Snapshot, revision);
    let mut objects = 0;
    for (collection, live) in live {
        for stored in live.objects() {
            push(&mut bytes, 0, |bytes| put(bytes, collection, &stored));
            objects += 1;
            if bytes.len() >= CHUNK {
                file.append(&bytes)?;
                bytes.clear();
            }
        }
    }
    push(&mut bytes, 0, |bytes| end(bytes, objects));
    file.append(&bytes)?;
    file.sync()
}
