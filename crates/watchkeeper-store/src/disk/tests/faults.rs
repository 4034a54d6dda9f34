//! Disks that fail, and disks that are full.

use super::fake::Fault;
use super::*;

/// Writes, overwrites and deletes, with a snapshot or two in between.
fn story() -> Vec<Step> {
    (0..24).map(|step| (step % 7, 100 + 10 * step, step % 5 == 4)).collect()
}

#[test]
fn a_disk_that_fails_once_fails_one_write_of_which_nothing_is_left() {
    for fault in 0.. {
        let files = FakeFiles::default();
        let store = open(&files, EAGER).unwrap();
        let at = files.operations() + fault;
        files.fail(Some(Fault::Once(at)));
        let mut failures = 0;
        for step in story() {
            let (before, revision_before) = (state(&store), revision(&store));
            match take(&store, step) {
                Some(Err(WriteError::NotDurable(why))) => {
                    failures += 1;
                    assert!(why.to_string().ends_with(": injected"), "{why}");
                    assert_eq!((state(&store), revision(&store)), (before, revision_before), "disk.D1");
                    take(&store, step).unwrap().unwrap(); // it fails once
                    assert!(store.health.get().is_none());
                }
                Some(result) => drop(result.unwrap()),
                None => {}
            }
        }
        let (before, revision_before) = (state(&store), revision(&store));
        drop(store);
        assert!(failures <= 1, "{failures}");
        assert_eq!(revision_before, 1 + changes(), "operation {fault}: no revision is lost");
        let store = open(&files.copy(), EAGER).unwrap_or_else(|error| panic!("operation {fault}: {error}"));
        assert_eq!((state(&store), revision(&store)), (before, revision_before), "operation {fault}");
        if files.operations() <= at {
            assert!(fault > 45, "there were {fault} operations");
            return;
        }
    }
}

/// Returns the number of steps that are changes.
fn changes() -> u64 {
    let store = open(&FakeFiles::default(), NEVER).unwrap();
    story().into_iter().filter_map(|step| take(&store, step)).count() as u64
}

#[test]
fn a_failure_while_opening_names_the_file_and_loses_nothing() {
    let files = FakeFiles::default();
    let store = open(&files, EAGER).unwrap();
    for step in story() {
        take(&store, step);
    }
    let before = state(&store);
    drop(store);
    // Something for the start to truncate and to remove.
    let mut name = files.list().unwrap();
    name.retain(|name| name.starts_with(LOG));
    files.put(&name[0], [files.contents(&name[0]), b"\xd7re".to_vec()].concat());
    files.put("snapshot-00000000000000000009.tmp", vec![]);
    for fault in 0.. {
        let copy = files.copy();
        copy.fail(Some(Fault::Once(fault)));
        match open(&copy, EAGER) {
            Err(OpenError::Io { source, .. }) => assert_eq!(source.to_string(), "injected"),
            Err(error) => panic!("{error}"),
            Ok(store) => {
                assert_eq!(
                    fault, 7,
                    "opening, cutting, syncing twice, opening and syncing the mark, removing"
                );
                assert!(store.recovery().cut.is_some());
                return;
            }
        }
        copy.fail(None);
        assert_eq!(state(&open(&copy, EAGER).unwrap()), before);
    }
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room_and_readers_do_not_notice() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let health = watchkeeper_core::Health::default().check(store.check());
    let answer = |path: &str| health.answer(path, &[], false).unwrap();
    take(&store, (1, 100, false)).unwrap().unwrap();
    let before = state(&store);

    files.fail(Some(Fault::Full(files.bytes() + 50)));
    for _ in 0..3 {
        let error = take(&store, (2, 100, false)).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "failed to write to disk");
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(why.starts_with("log-00000000000000000001: "), "{why}");
        assert_eq!(state(&store), before);
        assert!(!answer("/readyz").is_healthy && answer("/livez").is_healthy);
        assert_eq!(answer("/readyz/store").text, format!("internal server error: {why}\n"));
    }
    assert!(
        take(&store, (9, 0, true)).is_none(),
        "a deletion of a missing object is a conflict, not a failure"
    );

    files.fail(None);
    until_well(|| answer("/readyz").is_healthy); // without any write
    take(&store, (2, 100, false)).unwrap().unwrap();
    assert!(answer("/readyz").is_healthy);
    let before = state(&store);
    drop(store);
    let log = files.contents("log-00000000000000000001");
    assert_eq!(read_log(&log).unwrap().end, log.len() as u64, "disk.D4");
    assert_eq!(state(&open(&files, NEVER).unwrap()), before);
}

/// Waits until a condition holds, for at most a minute.
fn until_well(is_well: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_well() {
        assert!(begun.elapsed().as_secs() < 60, "not well after a minute");
        std::thread::yield_now();
    }
}

/// Counts the events logged on this thread.
#[derive(Clone, Default)]
struct Counted(Arc<std::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Counted {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_failing_disk_is_logged_when_failures_begin_and_end() {
    let (logged, health) = (Counted::default(), WriteHealth::default());
    let count = |outcomes: &[Option<&str>]| {
        let before = logged.0.load(std::sync::atomic::Ordering::Relaxed);
        tracing::subscriber::with_default(logged.clone(), || {
            for outcome in outcomes {
                health.set(*outcome);
            }
        });
        logged.0.load(std::sync::atomic::Ordering::Relaxed) - before
    };
    assert_eq!(count(&[None, None]), 0);
    assert_eq!(count(&[Some("full"); 100]), 1);
    assert_eq!(count(&[None, None]), 1);
    assert_eq!(count(&[Some("full"), None, Some("full"), None]), 0, "not again within a minute");
}

#[test]
fn an_object_that_could_not_be_read_back_is_not_written() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let length = files.contents("log-00000000000000000001").len();
    let mut metadata = watchkeeper_core::ObjectMetaBuilder::default();
    let mut refused = |body: &[u8], at| {
        let value = Unversioned::new(metadata.name("a").finish(), body.to_vec(), at).unwrap();
        let error = now(store.put(&"pods".into(), value, Precondition::Any)).unwrap_err();
        std::error::Error::source(&error).unwrap().to_string()
    };
    assert_eq!(refused(br#""""#, 1), "invalid metadata in the object");
    let other = br#"{"metadata":{"resourceVersion":"","name":"b"}}"#;
    assert_eq!(refused(other, 32), "object has different names in its metadata and its body");
    assert_eq!(files.contents("log-00000000000000000001").len(), length);
}
