//! A corpus of damaged directories: each has one file deleted, cut off, changed, swapped or replaced by an older copy.
//! The store must refuse the directory, or have everything that was acknowledged.

use super::*;

/// A directory after some writes, all acknowledged, and its contents after each of them.
struct Sample {
    name: &'static str,
    files: FakeFiles,
    history: Vec<FakeFiles>,
    acknowledged: (State, u64),
}

impl Sample {
    fn write(name: &'static str, thresholds: Thresholds, steps: &[Step]) -> Self {
        let files = FakeFiles::default();
        let store = open(&files, thresholds).unwrap();
        store.keyring().write(b"keys and certificates").unwrap();
        let mut history = vec![files.copy()];
        for step in steps {
            take(&store, *step);
            history.push(files.copy());
        }
        let acknowledged = (state(&store), revision(&store));
        drop(store);
        Self { name, files, history, acknowledged }
    }

    /// Calls a function with every damaged directory and a description of the damage.
    fn damage(&self, mut check: impl FnMut(&str, &FakeFiles)) {
        let names = self.files.list().unwrap();
        let mut add = |what: String, change: &dyn Fn(&FakeFiles)| {
            let damaged = self.files.copy();
            change(&damaged);
            check(&format!("{}: {what}", self.name), &damaged);
        };
        for name in &names {
            let whole = self.files.contents(name);
            add(format!("{name} deleted"), &|files| files.lose(name));
            for length in places(name, &whole) {
                add(format!("{name} cut to {length}"), &|files| files.put(name, whole[..length].to_vec()));
            }
            for place in places(name, &whole).into_iter().filter(|place| *place < whole.len()) {
                let mut changed = whole.clone();
                changed[place] ^= 1 << (place % 8);
                add(format!("{name} changed at {place}"), &|files| files.put(name, changed.clone()));
            }
            for start in (0..whole.len()).step_by(512).filter(|start| !is_zero(&whole[*start..])) {
                let mut changed = whole.clone();
                let end = (start + 512).min(whole.len());
                changed[start..end].fill(0);
                add(format!("{name} zeroed from {start}"), &|files| files.put(name, changed.clone()));
            }
            for (step, before) in self.history.iter().enumerate() {
                for older in before.list().unwrap().iter().filter(|older| kind(older) == kind(name)) {
                    let older = before.contents(older);
                    add(format!("{name} as of step {step}"), &|files| files.put(name, older.clone()));
                }
            }
            for other in names.iter().filter(|other| *other != name) {
                let other_bytes = self.files.contents(other);
                add(format!("{name} is a copy of {other}"), &|files| files.put(name, other_bytes.clone()));
                add(format!("{name} and {other} swapped"), &|files| {
                    files.put(name, other_bytes.clone());
                    files.put(other, whole.clone());
                });
            }
        }
    }
}

/// Returns the kind of a file.
fn kind(name: &str) -> &str {
    name.trim_end_matches(|character: char| character.is_ascii_digit())
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Returns the interesting offsets in a file: around the header and every record, and some in between.
fn places(name: &str, bytes: &[u8]) -> Vec<usize> {
    let mut places: Vec<usize> = match name {
        mark::MARK_FILE => (0..70).chain((4096 + mark::TAIL)..(4096 + mark::TAIL + 70)).collect(),
        KEYRING => Vec::new(), // the store does not read it: the keyring's own tests cut and change every byte
        _ => (0..30).chain((30..bytes.len()).step_by(37.max(bytes.len() / 150))).collect(),
    };
    let records = bytes.windows(4).enumerate().filter(|(_, window)| *window == frame::MARK);
    for (start, _) in records {
        places.extend([start - 1, start, start + 1, start + frame::HEADER]);
    }
    places.push(bytes.len() - 1);
    places.retain(|place| *place < bytes.len());
    places.sort_unstable();
    places.dedup();
    places
}

fn samples() -> Vec<Sample> {
    let steps = |count: usize, size: usize| -> Vec<Step> {
        (0..count).map(|step| (step % 7, size + 13 * (step % 5), step % 6 == 5)).collect()
    };
    let large: Vec<Step> =
        (0..4).map(|number| (number, mark::TAIL / 2 + 40_000 * (number % 2), false)).collect();
    let all = vec![
        Sample::write("one log", NEVER, &steps(12, 60)),
        Sample::write("a snapshot and a log", EAGER, &steps(40, 60)),
        Sample::write("a snapshot and an empty log", EAGER, &steps(18, 90)),
        Sample::write("batches larger than the mark holds", NEVER, &large),
    ];
    // The power goes off, or the disk is full, before a snapshot is complete: two logs and no snapshot.
    let mut two = Sample::write("two logs", NEVER, &steps(10, 60));
    let base = Revision::new(two.acknowledged.1);
    two.files.put(&log_name(base), frame::file_header(frame::FileKind::Log, base));
    let store = open(&two.files, NEVER).unwrap();
    for step in steps(5, 30) {
        take(&store, step);
        two.history.push(two.files.copy());
    }
    two.acknowledged = (state(&store), revision(&store));
    drop(store);
    all.into_iter().chain([two]).collect()
}

#[test]
fn no_damage_to_a_single_file_loses_acknowledged_changes_silently() {
    let (mut refused, mut complete) = (0, 0);
    for sample in samples() {
        sample.damage(|what, files| match open(files, NEVER) {
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("--recover") || text.contains("format version"), "{what}: {text}");
                assert_eq!(files.operations(), 0, "{what}: a refused directory is left unmodified");
            }
            Ok(store) => {
                complete += 1;
                let found = (state(&store), revision(&store));
                assert!(found == sample.acknowledged, "{what}: opened at revision {}", found.1);
            }
        });
    }
    assert!(refused + complete >= 2000 && refused > 1000 && complete > 100, "{refused} {complete}");
}

#[test]
fn recovery_opens_every_damaged_directory_and_reports_what_it_lost() {
    let (mut damages, mut reported) = (0, 0);
    for sample in samples() {
        sample.damage(|what, files| {
            damages += 1;
            let Err(refusal) = open(files, NEVER) else { return };
            if damages % 5 != 0 || matches!(refusal, OpenError::Version { .. }) {
                return;
            }
            let store = recover(files).unwrap_or_else(|error| panic!("{what}: {error}"));
            let loss = store.recovery().loss.clone().unwrap_or_else(|| panic!("{what}: no loss is reported"));
            assert_eq!(loss.reason, refusal.to_string());
            let (acknowledged, last) = &sample.acknowledged;
            let is_less = state(&store).iter().any(|(place, stored)| acknowledged.get(place) != Some(stored))
                || state(&store).len() < acknowledged.len();
            if is_less && loss.is_exact {
                assert!(loss.changes > 0 || loss.objects != Some(0), "{what}: {loss}");
            }
            if loss.is_exact {
                assert!(
                    revision(&store) > *last || what.contains("high-water-mark as of"),
                    "{what}: salvage.A1"
                );
            }
            take(&store, (1, 20, false)).unwrap().unwrap();
            let after = (state(&store), revision(&store));
            drop(store);
            let store = open(files, NEVER).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!((state(&store), revision(&store)), after, "{what}");
            reported += 1;
        });
    }
    assert!(reported > 150, "{reported}");
}

/// Opens a store, accepting losses.
fn recover(files: &FakeFiles) -> Result<DiskStore, OpenError> {
    DiskStore::on(files.clone(), HistoryLimits::default(), NEVER, LossPolicy::Accepted)
}

#[test]
fn recovery_keeps_every_record_that_can_be_read_and_the_files_that_it_replaces() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    for number in 0..6 {
        take(&store, (number, 100, false)).unwrap().unwrap();
    }
    let mut expected = state(&store);
    drop(store);
    let name = "log-00000000000000000001";
    let mut log = files.contents(name);
    let third = log.windows(4).enumerate().filter(|(_, window)| *window == frame::MARK).nth(2).unwrap().0;
    log[third + 60] ^= 1;
    files.put(name, log.clone());

    let store = recover(&files).unwrap();
    let (collection, text) = place(2);
    expected.remove(&(collection.to_string(), text)).unwrap();
    assert_eq!(state(&store), expected);
    assert_eq!(revision(&store), 8, "salvage.A1: seven were acknowledged");
    let loss = store.recovery().loss.clone().unwrap();
    let text = format!(
        "1 of the changes after revision 1 up to 7 are lost; the files that were replaced are kept as *.lost \
         (fake/{name} is damaged at byte {third}: the record is unreadable, but more records follow; \
         restore the data directory from a copy, or start with --recover to keep what can be read and lose the rest)"
    );
    assert_eq!(loss.to_string(), text);
    drop(store);
    assert_eq!(files.contents(&format!("{name}.lost")), log, "salvage.A2");
    let store = recover(&files).unwrap();
    assert_eq!((state(&store), store.recovery().loss.clone()), (expected, None), "nothing more is lost");
}

#[test]
fn a_directory_of_an_earlier_version_gets_a_mark() {
    let sample = Sample::write("old", NEVER, &[(0, 50, false), (1, 50, false)]);
    sample.files.remove(mark::MARK_FILE).unwrap();
    drop(open(&sample.files, NEVER).unwrap());
    let log = "log-00000000000000000001";
    sample.files.put(log, sample.history[1].contents(log));
    let error = open(&sample.files, NEVER).unwrap_err();
    let end = sample.history[2].contents(log).len();
    let expected = format!(
        "acknowledged changes are missing: the data directory ends at revision 2, but revision 3 was acknowledged, at \
         byte {end} of fake/{log}; restore the data directory from a copy, or start with --recover to keep what can be \
         read and lose the rest"
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_last_batch_missing_from_the_log_is_restored_from_the_mark() {
    let sample = Sample::write("tail", NEVER, &[(0, 50, false), (1, 50, false), (2, 50, false)]);
    let log = "log-00000000000000000001";
    let whole = sample.files.contents(log);
    for length in sample.history[2].contents(log).len()..whole.len() {
        let files = sample.files.copy();
        files.put(log, whole[..length].to_vec());
        let store = open(&files, NEVER).unwrap();
        assert_eq!((state(&store), revision(&store)), sample.acknowledged, "{length}");
        assert_eq!(store.recovery().cut, None);
        assert_eq!(files.contents(log), whole);
    }
}
