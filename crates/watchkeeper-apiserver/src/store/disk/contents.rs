//! Contents: the files of a directory, read and found complete, or refused.
//!
//! From: [`Files`]: the newest snapshot, the logs from there on, and the [mark].
//! To:   [recovery](super::recover), which opens the store on what was read.
//!
//! Nothing is changed before everything has been read, found right, and found complete up to the mark. Then what a
//! crash has left is cut off or removed: the end of the last log, drafts, files that a snapshot has replaced.

use std::io::{self, Read};
use std::sync::Arc;

use super::files::Files;
use super::frame::{BadFrame, BadHeader, FILE_HEADER, Form, Frames, read_file_header};
use super::log::Log;
use super::mark::{self, Found, MARK_FILE};
use super::recover::{Cut, Damage, Recovered, Recovery};
use super::replay::Replay;
use super::{KEYRING, LOG, OpenError, SNAPSHOT, draft_name, log_name, revision_in, snapshot_name};
use crate::store::Revision;

/// The log that is the last, as far as it has been read.
struct Last {
    base: Revision,
    /// Where its last record ends.
    end: u64,
    cut: Option<Cut>,
    /// Records that the log lacks and the mark has.
    restored: Vec<u8>,
}

/// A directory that has been read, found complete, and not changed.
pub(super) struct Contents {
    state: Replay,
    /// The revision of the snapshot.
    snapshot: Option<Revision>,
    /// The logs that count.
    logs: Vec<String>,
    log_bytes: u64,
    last: Option<Last>,
    mark: Option<Found>,
}

impl Contents {
    /// Reads a directory, and changes nothing.
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
            // A log that could not be begun for good, after which the one before it went on.
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
        // A snapshot is never without the log that was begun before it, nor is a keyring.
        let needs_log = snapshot.is_some() || mark.is_none() && names.iter().any(|name| name == KEYRING);
        if last.is_none() && needs_log {
            return Err(missing(files, &state));
        }
        let mut contents = Self { state, snapshot, logs: kept, log_bytes, last, mark };
        contents.restore_tail(files)?;
        contents.check_mark(files)?;
        Ok(contents)
    }

    /// Takes from the mark what the log lacks of the last batch: the log was synced after the mark, or never.
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
                let damage = Damage { offset: 0, what: "its records do not continue the log" };
                Err(OpenError::Damaged { path: files.path(MARK_FILE), damage })
            }
        }
    }

    /// `mark.M1`: everything up to the mark is there.
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

    /// Begins or continues the log, and removes what a crash or a snapshot has left.
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
                "{} has no high-water mark, as written by earlier versions: whether changes after revision \
                 {revision} are missing is unknown; the mark is created now",
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

/// The revisions in the names of files of a kind, in order.
pub(super) fn revisions(names: &[String], prefix: &str) -> Vec<Revision> {
    let mut found: Vec<_> = names.iter().filter_map(|name| revision_in(name, prefix)).collect();
    found.sort();
    found
}

/// D3: a log begins where what was read ends.
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
        // What was taken for a torn write was on disk before this log was begun.
        Some(Last { base: before, cut: Some(cut), .. }) if base > state.revision => {
            let what = "the record there cannot be read, and there is a log after it";
            let damage = Damage { offset: cut.offset, what };
            Err(OpenError::Damaged { path: files.path(&log_name(*before)), damage })
        }
        _ if base > state.revision => Err(missing(files, state)),
        _ => {
            let what = "its changes are also in the log before it";
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

/// Opens a file of a form, whose header must say the revision that its name says.
fn open(
    files: &dyn Files,
    name: &str,
    form: Form,
    revision: Revision,
) -> Result<Frames<Box<dyn Read>>, OpenError> {
    let (mut reader, length) = files.read(name).map_err(|source| io_error(files, name, source))?;
    let mut header = Vec::new();
    let read = (&mut reader).take(FILE_HEADER as u64).read_to_end(&mut header);
    read.map_err(|source| io_error(files, name, source))?;
    let damaged = |damage| OpenError::Damaged { path: files.path(name), damage };
    match read_file_header(form, &header) {
        Ok(says) if says == revision => Ok(Frames::new(reader, length)),
        Ok(_) => Err(damaged(Damage { offset: 0, what: "it says another revision than its name" })),
        Err(BadHeader::Version(version)) => Err(OpenError::Version { path: files.path(name), version }),
        Err(BadHeader::Damaged(damage)) => Err(damaged(damage)),
    }
}

fn read_snapshot(files: &dyn Files, revision: Revision, state: &mut Replay) -> Result<(), OpenError> {
    let name = snapshot_name(revision);
    let mut frames = open(files, &name, Form::Snapshot, revision)?;
    let damaged = |damage| OpenError::Damaged { path: files.path(&name), damage };
    loop {
        let offset = frames.offset();
        let what = match frames.next() {
            Ok(Some(payload)) => match state.take_object(payload, revision) {
                Ok(()) => continue,
                Err(what) => what,
            },
            Ok(None) if state.revision == revision => return Ok(()),
            Ok(None) | Err(BadFrame::Torn) => "it ends too early", // D5
            Err(BadFrame::Damaged(damage)) => return Err(damaged(damage)),
            Err(BadFrame::Io(source)) => return Err(io_error(files, &name, source)),
        };
        return Err(damaged(Damage { offset, what }));
    }
}

/// Makes the changes of a log. Returns where its last record ends, and whether there is a torn one after it.
fn read_changes(
    files: &dyn Files,
    name: &str,
    base: Revision,
    may_be_torn: bool,
    state: &mut Replay,
) -> Result<(u64, bool), OpenError> {
    let mut frames = open(files, name, Form::Log, base)?;
    match state.take_changes(&mut frames) {
        Ok(()) => Ok((frames.offset(), false)),
        Err(BadFrame::Torn) if may_be_torn => Ok((frames.offset(), true)),
        Err(BadFrame::Torn) => {
            let damage =
                Damage { offset: frames.offset(), what: "it ends too early, and there are logs after it" };
            Err(OpenError::Damaged { path: files.path(name), damage })
        }
        Err(BadFrame::Damaged(damage)) => Err(OpenError::Damaged { path: files.path(name), damage }),
        Err(BadFrame::Io(source)) => Err(io_error(files, name, source)),
    }
}

/// Removes what of ours is not kept.
fn remove_rest(files: &dyn Files, names: &[String], kept: &[String]) -> io::Result<()> {
    for name in names {
        let stem = name.strip_suffix(".tmp").unwrap_or(name);
        let is_draft_beside = [KEYRING, MARK_FILE].iter().any(|kept| *name == draft_name(kept));
        let is_ours =
            is_draft_beside || [LOG, SNAPSHOT].iter().any(|prefix| revision_in(stem, prefix).is_some());
        if is_ours && !kept.contains(name) {
            match files.remove(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // a draft that was replaced and renamed
                removed => removed?,
            }
        }
    }
    Ok(())
}
