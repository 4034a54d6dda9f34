//! Snapshots, and files that are damaged or missing.

use super::*;

/// The names of the logs and snapshots.
fn names(files: &FakeFiles) -> Vec<String> {
    let mut names = files.list().unwrap();
    names.retain(|name| name != mark::MARK_FILE);
    names
}

#[test]
fn logs_do_not_outgrow_the_objects_and_a_snapshot_brings_them_back() {
    let files = FakeFiles::default();
    let store = open(&files, EAGER).unwrap();
    for step in 0..400 {
        take(&store, (step % 12, 200, step % 7 == 6));
    }
    let (before, last) = (state(&store), revision(&store));
    drop(store);
    let bytes: usize = names(&files).iter().map(|name| files.contents(name).len()).sum();
    let written = 400 * 250;
    assert!(bytes < written / 4, "{bytes} bytes are left of {written}");
    let found = names(&files);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0].strip_prefix(LOG), found[1].strip_prefix(SNAPSHOT), "{found:?}");

    let store = open(&files, EAGER).unwrap();
    assert_eq!((state(&store), revision(&store)), (before.clone(), last));
    assert_eq!(store.recovery().objects, before.len());
}

#[test]
fn revisions_from_before_a_start_are_compacted_and_new_ones_go_on() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    for step in 0..10 {
        take(&store, (step % 4, 20, false)).unwrap().unwrap();
    }
    drop(store);
    let store = open(&files, NEVER).unwrap();
    let last = Revision::new(11);
    let at = |revision| RangeQuery { at: Some(revision), ..RangeQuery::all("pods".into()) };
    assert_eq!(now(store.range(at(last))).unwrap().items.len(), 2);
    let watch = |after| now(store.watch(WatchQuery { collection: "pods".into(), namespace: None, after }));
    for collection in ["pods", "never/seen"] {
        let query = RangeQuery { collection: collection.into(), ..at(last.before()) };
        assert!(
            matches!(now(store.range(query)), Err(ReadError::Compacted { oldest, .. }) if oldest == last)
        );
    }
    assert!(matches!(watch(last.before()), Err(WatchError::Compacted { oldest, .. }) if oldest == last));
    assert!(watch(last).is_ok());
    assert_eq!(take(&store, (0, 1, false)).unwrap().unwrap().modified(), Revision::new(12));
}

#[test]
fn many_objects_are_recovered_unchanged() {
    let files = FakeFiles::default();
    let thresholds = Thresholds { factor: 2, least: 1 << 20 };
    let store = open(&files, thresholds).unwrap();
    for number in 0..20_000 {
        take(&store, (number, number % 300, false)).unwrap().unwrap();
    }
    for number in 0..5_000 {
        take(&store, (4 * number, 0, number % 2 == 0)).unwrap().unwrap();
    }
    let before = state(&store);
    assert_eq!(before.len(), 17_500);
    drop(store);
    let store = open(&files, thresholds).unwrap();
    assert_eq!(store.recovery().objects, 17_500);
    assert!(state(&store) == before);
}

/// Returns files with a snapshot and its log, which has changes after it.
fn snapshot_and_log() -> (FakeFiles, String, String) {
    let files = FakeFiles::default();
    let store = open(&files, EAGER).unwrap();
    for step in 0..100 {
        take(&store, (step % 5, 100, false));
    }
    drop(store);
    // One more change without a snapshot: the last snapshot may have covered all changes before.
    let store = open(&files, Thresholds { factor: 2, least: 1 << 20 }).unwrap();
    take(&store, (0, 100, false));
    drop(store);
    let mut names = names(&files);
    assert_eq!(names.len(), 2, "{names:?}");
    let snapshot = names.remove(1);
    let log = names.remove(0);
    assert!(files.contents(&log).len() > frame::FILE_HEADER);
    (files, snapshot, log)
}

fn refusal(files: &FakeFiles) -> String {
    open(files, EAGER).unwrap_err().to_string()
}

#[test]
fn a_missing_file_is_an_error() {
    let (files, _, log) = snapshot_and_log();
    let copy = files.copy();
    copy.remove(&log).unwrap();
    assert!(refusal(&copy).starts_with(&format!("fake/{log} is missing: changes after revision ")));

    let (copy, other) = (files.copy(), "log-00000000000000009999");
    copy.put(other, frame::file_header(frame::FileKind::Log, Revision::new(9999)));
    assert!(refusal(&copy).contains(" is missing"), "{}", refusal(&copy));
}

#[test]
fn a_damaged_snapshot_is_an_error_wherever_it_is_damaged() {
    let (files, snapshot, _) = snapshot_and_log();
    let whole = files.contents(&snapshot);
    for place in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[place] ^= 4;
        files.put(&snapshot, bytes);
        assert!(refusal(&files).starts_with(&format!("fake/{snapshot} ")), "{}", refusal(&files));
    }
    for length in (0..whole.len()).step_by(11) {
        files.put(&snapshot, whole[..length].to_vec());
        let text = refusal(&files);
        assert!(
            text.contains("; restore the data directory from a copy, or start with --recover "),
            "{text}"
        );
    }
}

#[test]
fn only_the_last_log_may_be_torn() {
    let (files, _, log) = snapshot_and_log();
    let store = open(&files, NEVER).unwrap();
    let last = Revision::new(revision(&store));
    drop(store);
    let bytes = files.contents(&log);
    files.put(&log, bytes[..bytes.len() - 3].to_vec());
    let new = frame::file_header(frame::FileKind::Log, last);
    files.put(&log_name(last), new.clone());
    assert!(refusal(&files).contains("unreadable, but another log follows"), "{}", refusal(&files));
    let mut filled = new;
    frame::push(&mut filled, 20, |out| out.extend_from_slice(b"anything"));
    files.put(&log_name(last), filled);
    assert!(refusal(&files).contains("unexpected end of file, but more logs follow"), "{}", refusal(&files));
}

#[test]
fn an_abandoned_log_is_not_a_gap() {
    let (files, _, log) = snapshot_and_log();
    let store = open(&files, NEVER).unwrap();
    for number in 0..5 {
        take(&store, (number, 10, false)).unwrap().unwrap();
    }
    drop(store);
    let base = revision_in(&log, LOG).unwrap();
    let given_up = Revision::new(base.get() + 1);
    files.put(&log_name(given_up), frame::file_header(frame::FileKind::Log, given_up));
    files.put(&log, [files.contents(&log), b"\xd7re".to_vec()].concat());
    let store = open(&files, NEVER).unwrap();
    assert!(store.recovery().cut.is_some(), "the log before it is the last");
    assert!(!names(&files).contains(&log_name(given_up)));
}

#[test]
fn a_format_of_the_future_is_refused() {
    let (files, snapshot, log) = snapshot_and_log();
    for name in [&snapshot, &log] {
        let whole = files.contents(name);
        let mut bytes = whole.clone();
        bytes[4] = 2;
        let crc = frame::crc32(&bytes[..16]);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        files.put(name, bytes);
        assert_eq!(
            refusal(&files),
            format!("fake/{name} has format version 2, and this program reads version 1")
        );
        files.put(name, whole);
    }
}

#[test]
fn read_log_returns_the_extent_of_a_log() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    for step in 0..4 {
        take(&store, (step, 30, false));
    }
    drop(store);
    let log = files.contents("log-00000000000000000001");
    let whole = read_log(&log).unwrap();
    assert_eq!((whole.base.get(), whole.revision.get(), whole.end), (1, 5, log.len() as u64));
    let torn = read_log(&log[..log.len() - 1]).unwrap();
    assert_eq!(torn.revision.get(), 4);
    assert!(torn.end < whole.end);
    assert_eq!(read_log(&log[1..]).unwrap_err().offset, 0);
}
