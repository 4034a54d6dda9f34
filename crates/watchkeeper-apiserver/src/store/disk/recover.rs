//! Recovery: from the files of a directory to the objects that they say.
//!
//! From: [`Files`]: the newest snapshot, and the logs from there on.
//! To:   the [store](super), which begins with what was read, and appends to the last log.
//!
//! Nothing is changed before everything has been read and found right. Then what a crash has left is cut off or
//! removed: the end of the last log, drafts, files that a snapshot has replaced.

use std::fmt;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use super::files::Files;
use super::frame::{BadFrame, BadHeader, FILE_HEADER, Form, Frames, read_file_header};
use super::log::Log;
use super::replay::Replay;
use super::{KEYRING, LOG, OpenError, SNAPSHOT, draft_name, log_name, revision_in, snapshot_name};
use crate::store::Revision;

/// What was found when a store was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// How many objects there are.
    pub objects: usize,
    /// The revision of the last change.
    pub revision: Revision,
    /// What was cut off.
    pub cut: Option<Cut>,
}

/// The end of a log that was cut off: a write that was cut short, and that nobody was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The file.
    pub path: PathBuf,
    /// How long it is now.
    pub offset: u64,
    /// How many bytes were cut off.
    pub bytes: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, bytes } = self;
        write!(f, "{bytes} bytes of an unfinished write were cut off {} at byte {offset}", path.display())
    }
}

/// A place in a file where something was on disk and is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where, in bytes from the beginning of the file.
    pub offset: u64,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is damaged at byte {}: {}", self.offset, self.what)
    }
}

/// What the files say.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) state: Replay,
    pub(super) recovery: Recovery,
    /// Bytes in the logs.
    pub(super) log_bytes: u64,
}

/// The log that is the last, as far as it has been read.
struct Last {
    base: Revision,
    /// Where its last record ends.
    end: u64,
    cut: Option<Cut>,
}

/// Reads all that is there.
pub(super) fn recover(files: &Arc<dyn Files>) -> Result<(Recovered, Log), OpenError> {
    let of_directory = |source| OpenError::Io { path: files.path(""), source };
    let names = files.list().map_err(of_directory)?;
    let revisions = |prefix| {
        let mut found: Vec<_> = names.iter().filter_map(|name| revision_in(name, prefix)).collect();
        found.sort();
        found
    };
    let (snapshots, logs) = (revisions(SNAPSHOT), revisions(LOG));
    let mut state = Replay::default();
    let base = snapshots.last().copied();
    if let Some(revision) = base {
        read_snapshot(&**files, revision, &mut state)?;
    }
    let mut lengths = Vec::new();
    for base in logs.into_iter().filter(|log| base.is_none_or(|base| *log >= base)) {
        let name = log_name(base);
        let (_, length) = files.read(&name).map_err(|source| io_error(&**files, &name, source))?;
        lengths.push((base, length));
    }
    let mut last: Option<Last> = None;
    let (mut kept, mut log_bytes) = (Vec::new(), 0);
    for (place, (base, length)) in lengths.iter().enumerate() {
        let name = log_name(*base);
        // A log that could not be begun for good, after which the one before it went on.
        let is_empty = *length == FILE_HEADER as u64;
        let went_on = |last: &Last| *base < state.revision || *base == state.revision && last.cut.is_some();
        if is_empty && last.as_ref().is_some_and(went_on) {
            continue;
        }
        check_order(&**files, *base, &state, last.as_ref())?;
        let may_be_torn = lengths[place + 1..].iter().all(|(_, length)| *length == FILE_HEADER as u64);
        let (end, is_torn) = read_changes(&**files, &name, *base, may_be_torn, &mut state)?;
        let cut = is_torn.then(|| Cut { path: files.path(&name), offset: end, bytes: length - end });
        log_bytes += end - FILE_HEADER as u64;
        kept.push(name);
        last = Some(Last { base: *base, end, cut });
    }
    let log = match &last {
        Some(last) => Log::resume(files, last.base, last.end)
            .map_err(|source| io_error(&**files, &log_name(last.base), source))?,
        // A snapshot is never without the log that was begun before it.
        None if base.is_some() => return Err(missing(&**files, &state)),
        None => Log::create(files, state.revision).map_err(of_directory)?,
    };
    kept.extend(base.map(snapshot_name));
    kept.push(log.name().to_owned());
    remove_rest(&**files, &names, &kept).map_err(of_directory)?;
    let cut = last.and_then(|last| last.cut);
    let recovery = Recovery { objects: state.count(), revision: state.revision, cut };
    Ok((Recovered { state, recovery, log_bytes }, log))
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

fn io_error(files: &dyn Files, name: &str, source: io::Error) -> OpenError {
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
        let is_draft_beside = *name == draft_name(KEYRING);
        let is_ours =
            is_draft_beside || [LOG, SNAPSHOT].iter().any(|prefix| revision_in(stem, prefix).is_some());
        if is_ours && !kept.contains(name) {
            files.remove(name)?;
        }
    }
    Ok(())
}

/// What a log says by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogContents {
    /// The revision that it begins after.
    pub base: Revision,
    /// The revision of its last change.
    pub revision: Revision,
    /// Where its last change ends, in bytes. What is after it was cut short by a crash.
    pub end: u64,
}

/// Reads the bytes of a log that begins with an empty store, as the start of a store does.
///
/// # Errors
/// Where and how it is damaged.
pub fn read_log(log: &[u8]) -> Result<LogContents, Damage> {
    let base = read_file_header(Form::Log, log).map_err(|bad| match bad {
        BadHeader::Version(_) => Damage { offset: 4, what: "it has another format version" },
        BadHeader::Damaged(damage) => damage,
    })?;
    let mut state = Replay { revision: base, ..Replay::default() };
    let mut frames = Frames::new(log.get(FILE_HEADER..).unwrap_or_default(), log.len() as u64);
    match state.take_changes(&mut frames) {
        Ok(()) | Err(BadFrame::Torn) => {
            Ok(LogContents { base, revision: state.revision, end: frames.offset() })
        }
        Err(BadFrame::Damaged(damage)) => Err(damage),
        Err(BadFrame::Io(_)) => Err(Damage { offset: frames.offset(), what: "it ends too early" }),
    }
}
