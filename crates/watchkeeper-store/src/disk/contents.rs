//! Contents: the files of a data directory, read and verified to be complete, or refused.
//!
//! Input: [`Files`]: the newest snapshot, the logs from there on, and the [mark].
//! Output: [recovery](super::recover), which opens the store with the result.
//!
//! Nothing is modified until everything has been read and verified to be complete up to the mark. Only then are the
//! leftovers of a crash removed: the torn end of the last log, drafts, and files that a snapshot has replaced.

use std::io::{self, Read};
use std::sync::Arc;

use super::files::Files;
use super::frame::{BadFrame, BadHeader, FILE_HEADER, FileKind, Frames, read_file_header};
use super::log::Log;
use super::mark::{self, Found, MARK_FILE};
use super::recover::{Cut, Damage, Recovered, Recovery};
use super::replay::Replay;
use super::{KEYRING, LOG, OpenError, SNAPSHOT, draft_name, log_name, revision_in, snapshot_name};
use crate::Revision;

/// The last log, as far as it could be read.
struct Last {
    base: Revision,
    /// The offset at which its last record ends.
    end: u64,
    cut: Option<Cut>,
    /// Records that are missing from the log and were taken from the mark.
    restored: Vec<u8>,
}

/// A directory that has been read and verified, but not modified.
pub(super) struct Contents {
    state: Replay,
    /// The revision of the snapshot.
    snapshot: Option<Revision>,
    /// The names of the logs in use.
    logs: Vec<String>,
    log_bytes: u64,
    last: Option<Last>,
    mark: Option<Found>,
}

impl Contents {
    /// Reads a directory without modifying it.
    pub(super) fn read(files: &dyn Files, names: &[String]) -> Result<Self, OpenError> {
        let mark = mark::read(files)?;
        let (snapshots, logs) = (revisions(names, SNAPSHOT), revisions(names, LOG));
        let mut state = Replay::default();
        let snapshot = snapshots.last().copied();
        if let Some(revision) = snapshot {
            read_snapshot(files, revision, &mut state)?;
        }
        let mut lengths = Vec::new();
        for base in logs.into_iter().filter(|log| snapshot.is_none_or(|snapshot| *log >= snapshot)) {
            let name = log_name(base);
            let (_, length) = files.read(&name).map_err(|source| io_error(files, &name, source))?;
            lengths.push((base, length));
        }
        let mut last: Option<Last> = None;
        let (mut kept, mut log_bytes) = (Vec::new(), 0);
        for (place, (base, length)) in lengths.iter().enumerate() {
            let name = log_name(*base);
            // A log that could not be started durably, so that the one before it continued.
            let is_empty = *length == FILE_HEADER as u64;
            let went_on =
                |last: &Last| *base < state.revision || *base == state.revision && last.cut.is_some();
            if is_empty && last.as_ref().is_some_and(went_on) {
                continue;
            }
            check_order(files, *base, &state, last.as_ref())?;
            let may_be_torn = lengths[place + 1..].iter().all(|(_, length)| *length == FILE_HEADER as u64);
            let (end, is_torn) = read_changes(files, &name, *base, may_be_torn, &mut state)?;
            let cut = is_torn.then(|| Cut { path: files.path(&name), offset: end, bytes: length - end });
            log_bytes += end - FILE_HEADER as u64;
            kept.push(name);
            last = Some(Last { base: *base, end, cut, restored: Vec::new() });
        }
        // A snapshot always has the log that was started before it, and so does a keyring.
        let needs_log = snapshot.is_some() || mark.is_none() && names.iter().any(|name| name == KEYRING);
        if last.is_none() && needs_log {
            return Err(missing(files, &state));
        }
        let mut contents = Self { state, snapshot, logs: kept, log_bytes, last, mark };
        contents.restore_tail(files)?;
        contents.check_mark(files)?;
        Ok(contents)
    }

    /// Takes records of the last batch that are missing from the log from the mark: the log was synced after the
    /// mark, or never.
    fn restore_tail(&mut self, files: &dyn Files) -> Result<(), OpenError> {
        let (Some(last), Some(Found { at, tail, .. })) = (&mut self.last, &self.mark) else { return Ok(()) };
        let lacks_some = last.base == at.base && (at.start..at.end).contains(&last.end);
        let Some(rest) = last.end.checked_sub(at.start).filter(|_| lacks_some) else { return Ok(()) };
        let Some(rest) = usize::try_from(rest).ok().and_then(|rest| tail.get(rest..)) else { return Ok(()) };
        match self.state.take_changes(&mut Frames::new(rest, FILE_HEADER as u64 + rest.len() as u64)) {
            Ok(()) => {
                last.restored = rest.to_vec();
                last.cut = None;
                self.log_bytes += rest.len() as u64;
                Ok(())
            }
            Err(_) => {
                let damage = Damage { offset: 0, what: "its records do not follow the log" };
                Err(OpenError::Damaged { path: files.path(MARK_FILE), damage })
            }
        }
    }

    /// `mark.M1`: everything up to the mark exists.
    fn check_mark(&self, files: &dyn Files) -> Result<(), OpenError> {
        let Some(Found { at, .. }) = &self.mark else { return Ok(()) };
        let ends_early = |last: &Last| last.base == at.base && at.end > last.end + last.restored.len() as u64;
        if self.state.revision >= at.revision && !self.last.as_ref().is_some_and(ends_early) {
            return Ok(());
        }
        Err(OpenError::Lost {
            path: files.path(&log_name(at.base)),
            length: at.end,
            acknowledged: at.revision.get(),
            found: self.state.revision.get(),
        })
    }

    /// Creates or continues the log, and removes the leftovers of a crash or a snapshot.
    pub(super) fn open(
        self,
        files: &Arc<dyn Files>,
        names: &[String],
    ) -> Result<(Recovered, Log), OpenError> {
        let Self { state, snapshot, logs: mut kept, log_bytes, last, mark } = self;
        let of_directory = |source| OpenError::Io { path: files.path(""), source };
        if mark.is_none() && state.revision > Revision::FIRST {
            let (directory, revision) = (files.path(""), state.revision);
            tracing::warn!(
                "{} has no high-water mark, as written by earlier versions: cannot tell whether changes after revision \
                 {revision} are missing; creating the mark now",
                directory.display()
            );
        }
        let log = match &last {
            Some(Last { base, end, restored, .. }) => {
                Log::resume(files, *base, *end, restored, mark.as_ref(), state.revision)
                    .map_err(|source| io_error(&**files, &log_name(*base), source))?
            }
            None => Log::create(files, state.revision).map_err(of_directory)?,
        };
        kept.extend(snapshot.map(snapshot_name));
        kept.push(log.name());
        remove_rest(&**files, names, &kept).map_err(of_directory)?;
        let cut = last.and_then(|last| last.cut);
        let recovery = Recovery { objects: state.count(), revision: state.revision, cut, loss: None };
        Ok((Recovered { state, recovery, log_bytes }, log))
    }
}

/// Returns the revisions in the names of files with this prefix, in order.
pub(super) fn revisions(names: &[String], prefix: &str) -> Vec<Revision> {
    let mut found: Vec<_> = names.iter().filter_map(|name| revision_in(name, prefix)).collect();
    found.sort();
    found
}

/// `disk.D3`: a log begins where the previous file ends.
fn check_order(
    files: &dyn Files,
    base: Revision,
    state: &Replay,
    before: Option<&Last>,
) -> Result<(), OpenError> {
    if base == state.revision {
        return Ok(());
    }
    match before {
        // What looked like a torn write was on disk before this log was started.
        Some(Last { base: before, cut: Some(cut), .. }) if base > state.revision => {
            let what = "the record is unreadable, but another log follows";
            let damage = Damage { offset: cut.offset, what };
            Err(OpenError::Damaged { path: files.path(&log_name(*before)), damage })
        }
        _ if base > state.revision => Err(missing(files, state)),
        _ => {
            let what = "its changes are also in the previous log";
            Err(OpenError::Damaged { path: files.path(&log_name(base)), damage: Damage { offset: 0, what } })
        }
    }
}

fn missing(files: &dyn Files, state: &Replay) -> OpenError {
    OpenError::Missing { path: files.path(&log_name(state.revision)), after: state.revision.get() }
}

pub(super) fn io_error(files: &dyn Files, name: &str, source: io::Error) -> OpenError {
    OpenError::Io { path: files.path(name), source }
}

/// Opens a file, whose header must match its kind and carry the revision in its name.
fn open(
    files: &dyn Files,
    name: &str,
    kind: FileKind,
    revision: Revision,
) -> Result<Frames<Box<dyn Read>>, OpenError> {
    let (mut reader, length) = files.read(name).map_err(|source| io_error(files, name, source))?;
    let mut header = Vec::new();
    let read = (&mut reader).take(FILE_HEADER as u64).read_to_end(&mut header);
    read.map_err(|source| io_error(files, name, source))?;
    let damaged = |damage| OpenError::Damaged { path: files.path(name), damage };
    match read_file_header(kind, &header) {
        Ok(found) if found == revision => Ok(Frames::new(reader, length)),
        Ok(_) => Err(damaged(Damage { offset: 0, what: "its header and its name have different revisions" })),
        Err(BadHeader::Version(version)) => Err(OpenError::Version { path: files.path(name), version }),
        Err(BadHeader::Damaged(damage)) => Err(damaged(damage)),
    }
}

fn read_snapshot(files: &dyn Files, revision: Revision, state: &mut Replay) -> Result<(), OpenError> {
    let name = snapshot_name(revision);
    let mut frames = open(files, &name, FileKind::Snapshot, revision)?;
    let damaged = |damage| OpenError::Damaged { path: files.path(&name), damage };
    loop {
        let offset = frames.offset();
        let what = match frames.next() {
            Ok(Some(payload)) => match state.take_object(payload, revision) {
                Ok(()) => continue,
                Err(what) => what,
            },
            Ok(None) if state.revision == revision => return Ok(()),
            Ok(None) | Err(BadFrame::Torn) => "unexpected end of file", // disk.D5
            Err(BadFrame::Damaged(damage)) => return Err(damaged(damage)),
            Err(BadFrame::Io(source)) => return Err(io_error(files, &name, source)),
        };
        return Err(damaged(Damage { offset, what }));
    }
}

/// Applies the changes of a log. Returns the offset at which its last record ends, and whether a torn one follows.
fn read_changes(
    files: &dyn Files,
    name: &str,
    base: Revision,
    may_be_torn: bool,
    state: &mut Replay,
) -> Result<(u64, bool), OpenError> {
    let mut frames = open(files, name, FileKind::Log, base)?;
    match state.take_changes(&mut frames) {
        Ok(()) => Ok((frames.offset(), false)),
        Err(BadFrame::Torn) if may_be_torn => Ok((frames.offset(), true)),
        Err(BadFrame::Torn) => {
            let damage =
                Damage { offset: frames.offset(), what: "unexpected end of file, but more logs follow" };
            Err(OpenError::Damaged { path: files.path(name), damage })
        }
        Err(BadFrame::Damaged(damage)) => Err(OpenError::Damaged { path: files.path(name), damage }),
        Err(BadFrame::Io(source)) => Err(io_error(files, name, source)),
    }
}

/// Removes files of the store that are not in `kept`.
fn remove_rest(files: &dyn Files, names: &[String], kept: &[String]) -> io::Result<()> {
    for name in names {
        let stem = name.strip_suffix(".tmp").unwrap_or(name);
        let is_draft_beside = [KEYRING, MARK_FILE].iter().any(|kept| *name == draft_name(kept));
        let is_ours =
            is_draft_beside || [LOG, SNAPSHOT].iter().any(|prefix| revision_in(stem, prefix).is_some());
        if is_ours && !kept.contains(name) {
            match files.remove(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // a draft that has been renamed since
                removed => removed?,
            }
        }
    }
    Ok(())
}
