//! Snapshots: all objects in a file of their own, in place of the logs that say how they came to be.
//!
//! From: the [writer](super::writer), between two batches.
//! To:   a thread that writes the state of that moment, which is shared and stays as it is, while the writer goes
//!       on in a new log. The files that the snapshot replaces are removed once it is on disk.
//!
//! A snapshot that fails is not missed: the logs have all that it would have had. It is tried again when they
//! have grown.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::files::Files;
use super::frame::{Form, HEADER, file_header, push};
use super::log::Log;
use super::record::{end, put, put_length};
use super::{LOG, SNAPSHOT, draft_name, revision_in, snapshot_name};
use crate::store::memory::Snapshot;
use crate::store::{Collection, MemoryStore, Revision, Stored};

/// How many bytes are written at once.
const CHUNK: usize = 1 << 20;

/// When the logs are too long: both must hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Thresholds {
    /// They have so many times the bytes of the objects.
    pub(super) factor: u64,
    /// They have so many bytes.
    pub(super) least: u64,
}

/// A start reads about five times what it must at most, and a byte that is logged costs a quarter of one in snapshots;
/// below 16 MiB neither is worth the trouble.
impl Default for Thresholds {
    fn default() -> Self {
        Self { factor: 4, least: 16 << 20 }
    }
}

/// How many bytes of a snapshot an object takes.
pub(super) fn kept_bytes(collection: &Collection, stored: &Stored) -> u64 {
    (HEADER + put_length(collection, stored)) as u64
}

/// Decides when a snapshot is due, and has it written.
#[derive(Debug)]
pub(super) struct Snapshots {
    files: Arc<dyn Files>,
    thresholds: Thresholds,
    /// What a snapshot would have.
    live_bytes: u64,
    /// What the logs have that no snapshot replaces.
    log_bytes: u64,
    /// None is begun until the logs have more than this: after one that failed.
    not_before: u64,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    thread: JoinHandle<io::Result<()>>,
    /// How many bytes of the logs it replaces.
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

    /// Takes note of what was logged, and of what the objects take more or less by it.
    pub(super) fn logged(&mut self, bytes: usize, added: u64, removed: u64) {
        self.log_bytes += bytes as u64;
        self.live_bytes = (self.live_bytes + added).saturating_sub(removed);
    }

    /// Begins a snapshot and a new log, if it is time. All that is in memory is in the logs, and nobody writes.
    pub(super) fn turn(&mut self, memory: &MemoryStore, log: &mut Log) {
        if let Some(running) = self.running.take_if(|running| running.thread.is_finished()) {
            self.ended(running);
        }
        let due = self.thresholds.least.max(self.live_bytes.saturating_mul(self.thresholds.factor));
        if self.running.is_some() || self.log_bytes <= due.max(self.not_before) {
            return;
        }
        if let Err(error) = self.begin(memory, log) {
            self.failed(&error);
        }
    }

    /// Waits for a snapshot that is being written.
    pub(super) fn finish(&mut self) {
        if let Some(running) = self.running.take() {
            self.ended(running);
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

    fn ended(&mut self, running: Running) {
        match running.thread.join() {
            Ok(Ok(())) => {
                self.log_bytes -= running.replaces;
                self.not_before = 0;
            }
            Ok(Err(error)) => self.failed(&error),
            Err(_panicked) => self.failed(&io::Error::other("the thread that writes it has panicked")),
        }
    }

    fn failed(&mut self, error: &io::Error) {
        tracing::warn!(%error, directory = %self.files.path("").display(), "cannot write a snapshot of the store");
        self.not_before = self.log_bytes + self.thresholds.least.max(self.live_bytes);
    }
}

/// Writes all objects at a revision, and removes what that replaces.
fn write(files: &dyn Files, revision: Revision, live: &[(Collection, Snapshot)]) -> io::Result<()> {
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
    live: &[(Collection, Snapshot)],
) -> io::Result<()> {
    let name = snapshot_name(revision);
    let draft = draft_name(&name);
    let written = fill(files, &draft, revision, live).and_then(|()| {
        files.rename(&draft, &name)?; // D5
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
    live: &[(Collection, Snapshot)],
) -> io::Result<()> {
    let mut file = files.create(name)?;
    let mut bytes = file_header(Form::Snapshot, revision);
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
