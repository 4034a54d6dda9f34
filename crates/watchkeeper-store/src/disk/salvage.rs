//! Salvage: opens a directory that has lost acknowledged changes, for a user who accepts the loss.
//!
//! Input: [recovery](super::recover), which has refused the directory.
//! Output: a snapshot of everything that can still be read, a new log, and a [`Loss`] that describes what is gone.
//!
//! Every record whose checksums match is used, even after damaged ones; the newest record of each object wins.
//!
//! Invariants:
//! - `salvage.A1`: the new revision is higher than any acknowledged one, so that no revision a client has seen comes
//!   back with different contents.
//! - `salvage.A2`: replaced files keep their contents under a name that ends in `.lost`.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;

use super::contents::{io_error, revisions};
use super::error::OpenError;
use super::files::Files;
use super::frame::{FileKind, HEADER, crc32, read_file_header, read_header};
use super::log::Log;
use super::mark;
use super::record::{self, Record};
use super::recover::{Recovered, Recovery};
use super::replay::Replay;
use super::tear::find_mark;
use super::{LOG, SNAPSHOT, log_name, revision_in, snapshot, snapshot_name};
use crate::Revision;

/// The acknowledged changes that a directory had lost when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The reason that the directory was refused.
    pub reason: String,
    /// Changes are counted after this revision, the one of the newest snapshot.
    pub after: Revision,
    /// The newest revision known to have been acknowledged or written.
    pub acknowledged: Revision,
    /// The number of changes between these revisions that could not be read.
    pub changes: u64,
    /// The number of objects of the snapshot that could not be read; `None` if unknown.
    pub objects: Option<u64>,
    /// Whether the high-water mark could be read. If not, changes after the last readable one may be lost too.
    pub is_exact: bool,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, after, acknowledged, changes, objects, is_exact } = self;
        let least = if *is_exact { "" } else { "at least " };
        write!(f, "{least}{changes} of the changes after revision {after} up to {acknowledged}")?;
        match objects {
            Some(0) => {}
            Some(objects) => write!(f, " and {objects} objects of the snapshot at {after}")?,
            None => write!(f, " and an unknown number of objects of the snapshot at {after}")?,
        }
        write!(f, " are lost; the files that were replaced are kept as *.lost ({reason})")
    }
}

/// Opens a directory that was refused for `reason`.
pub(super) fn salvage(
    files: &Arc<dyn Files>,
    names: &[String],
    reason: &OpenError,
) -> Result<(Recovered, Log), OpenError> {
    let mark = match mark::read(&**files) {
        Err(error) if !error.is_loss() => return Err(error),
        mark => mark.ok().flatten(),
    };
    let (snapshots, logs) = (revisions(names, SNAPSHOT), revisions(names, LOG));
    let base = snapshots.last().copied();
    let snapshot = base.map(|base| contents(&**files, &snapshot_name(base))).transpose()?;
    let mut found = Found::default();
    let objects = match base.zip(snapshot.as_deref()) {
        Some((base, bytes)) => missing_objects(base, bytes),
        // Without a snapshot the logs start from an empty store, or from a missing snapshot.
        None => logs.first().is_none_or(|log| *log == Revision::FIRST).then_some(0),
    };
    // Logs from before the snapshot may still exist. They help only if the snapshot is incomplete.
    for log in logs.iter().filter(|log| objects != Some(0) && base.is_some_and(|base| **log < base)) {
        found.take(&contents(&**files, &log_name(*log))?, Revision::FIRST);
    }
    found.take(snapshot.as_deref().unwrap_or_default(), Revision::FIRST);
    let after = base.or(logs.first().copied()).unwrap_or(Revision::FIRST);
    found.changes = 0;
    for log in logs.iter().filter(|log| base.is_none_or(|base| **log >= base)) {
        found.take(&contents(&**files, &log_name(*log))?, after);
    }
    if let Some(mark) = &mark {
        found.take(&mark.tail, after);
    }
    let known = [Some(found.newest), mark.as_ref().map(|mark| mark.at.revision), logs.last().copied(), base];
    let acknowledged = known.into_iter().flatten().max().unwrap_or(Revision::FIRST);
    let changes = (acknowledged.get() - after.get()).saturating_sub(found.changes);
    let is_exact = mark.is_some();
    let loss = Loss { reason: reason.to_string(), after, acknowledged, changes, objects, is_exact };

    let revision = Revision::new(acknowledged.get().saturating_add(1)); // salvage.A1
    let failed = |source| OpenError::Io { path: files.path(""), source };
    let mut state = found.state;
    state.revision = revision;
    snapshot::create(&**files, revision, &state.objects.live()).map_err(failed)?;
    let log = Log::create(files, revision).map_err(failed)?;
    for name in names.iter().filter(|name| is_ours(name)) {
        files.rename(name, &format!("{name}.lost")).map_err(failed)?; // salvage.A2
    }
    files.sync().map_err(failed)?;
    let recovery = Recovery { objects: state.count(), revision, cut: None, loss: Some(loss) };
    Ok((Recovered { state, recovery, log_bytes: 0 }, log))
}

fn is_ours(name: &str) -> bool {
    [LOG, SNAPSHOT].iter().any(|prefix| revision_in(name, prefix).is_some())
}

fn contents(files: &dyn Files, name: &str) -> Result<Vec<u8>, OpenError> {
    let mut bytes = Vec::new();
    let read = files.read(name).and_then(|(mut file, _)| file.read_to_end(&mut bytes));
    read.map_err(|source| io_error(files, name, source))?;
    Ok(bytes)
}

/// Returns the number of objects of a snapshot that cannot be read; `None` if unknown, or if this is another
/// snapshot.
fn missing_objects(revision: Revision, bytes: &[u8]) -> Option<u64> {
    read_file_header(FileKind::Snapshot, bytes).ok().filter(|found| *found == revision)?;
    let (mut puts, mut end) = (0, None);
    for payload in payloads(bytes) {
        match record::read(payload) {
            Ok(Record::Put { .. }) => puts += 1,
            Ok(Record::End { objects }) => end = Some(objects),
            _ => {}
        }
    }
    end.map(|end: u64| end.saturating_sub(puts))
}

/// The records found in the files so far.
struct Found {
    state: Replay,
    /// The highest revision of a record.
    newest: Revision,
    /// The number of changes applied.
    changes: u64,
}

impl Default for Found {
    fn default() -> Self {
        Self { state: Replay::default(), newest: Revision::FIRST, changes: 0 }
    }
}

impl Found {
    /// Applies the readable records of a file that are newer than a revision.
    fn take(&mut self, bytes: &[u8], after: Revision) {
        for payload in payloads(bytes) {
            let Ok(record) = record::read(payload) else { continue };
            let revision = match &record {
                Record::Put { stored, .. } => stored.modified(),
                Record::Delete { revision, .. } => *revision,
                Record::End { .. } => continue,
            };
            if revision <= after {
                continue; // from an older file, and already in the snapshot
            }
            // The tail in the mark repeats records of the log.
            self.changes += u64::from(revision > self.newest);
            self.newest = self.newest.max(revision);
            let objects = &mut self.state.objects;
            match record {
                Record::Put { collection, stored } => {
                    let existing = objects.get(&collection, stored.key());
                    if existing.is_none_or(|existing| existing.modified() < revision) {
                        objects.put(&collection, Arc::new(stored));
                    }
                }
                Record::Delete { collection, key, .. } => {
                    let existing = objects.get(&collection, &key);
                    if existing.is_some_and(|existing| existing.modified() < revision) {
                        objects.delete(&collection, &key);
                    }
                }
                Record::End { .. } => {}
            }
        }
    }
}

/// Returns the payloads of all records whose checksums match, wherever they are.
fn payloads(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[find_mark(rest)?..];
            let sound = read_header(rest).and_then(|header| {
                let payload = rest.get(HEADER..HEADER.checked_add(header.length)?)?;
                (crc32(payload) == header.crc).then_some(payload)
            });
            match sound {
                Some(payload) => {
                    rest = &rest[HEADER + payload.len()..];
                    return Some(payload);
                }
                None => rest = &rest[1..],
            }
        }
    })
}
