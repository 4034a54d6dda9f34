//! The state after a crash: every acknowledged write, and nothing that was not requested.

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};

use super::fake::Fault;
use super::*;

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(
        (0..12_usize, prop_oneof![0..40_usize, 400..1200_usize], prop::bool::weighted(0.25)),
        1..most,
    )
}

/// Random choices for a crash, from a seed that proptest prints.
fn choices(seed: [u8; 32]) -> impl FnMut(usize) -> usize {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    move |below| (random.next_u64() % below as u64) as usize
}

/// A log that was written without snapshots, and its length, the mark and the state after each change.
struct Written {
    files: FakeFiles,
    log: Vec<u8>,
    lengths: Vec<usize>,
    marks: Vec<Vec<u8>>,
    states: Vec<State>,
}

fn write(steps: &[Step]) -> Written {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let log = || files.contents(LOG_NAME);
    let mark = || files.contents(mark::MARK_FILE);
    let (mut lengths, mut marks, mut states) = (vec![log().len()], vec![mark()], vec![State::new()]);
    for step in steps {
        if let Some(result) = take(&store, *step) {
            result.unwrap();
            lengths.push(log().len());
            marks.push(mark());
            states.push(state(&store));
        }
    }
    let log = log();
    drop(store);
    Written { files, log, lengths, marks, states }
}

const LOG_NAME: &str = "log-00000000000000000001";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_log_truncated_after_the_mark_recovers_its_complete_changes(
        steps in steps(30), place in any::<prop::sample::Index>(),
    ) {
        let Written { files, log, lengths, marks, states } = write(&steps);
        let end = lengths[0] + place.index(log.len() - lengths[0] + 1);
        files.put(LOG_NAME, log[..end].to_vec());
        let whole = lengths.iter().filter(|length| **length <= end).count() - 1;
        files.put(mark::MARK_FILE, marks[whole].clone());
        let store = open(&files, NEVER).unwrap();
        prop_assert_eq!(&state(&store), &states[whole]);
        prop_assert_eq!(revision(&store), whole as u64 + 1);
        let cut = store.recovery().cut.as_ref().map(|cut| (cut.offset, cut.bytes));
        let expected = (end > lengths[whole]).then(|| (lengths[whole] as u64, (end - lengths[whole]) as u64));
        prop_assert_eq!(cut, expected);
        prop_assert_eq!(files.contents(LOG_NAME).len(), lengths[whole], "disk.D4");

        // New writes are recovered too.
        take(&store, (1, 10, false)).unwrap().unwrap();
        let after = state(&store);
        drop(store);
        prop_assert_eq!(state(&open(&files, NEVER).unwrap()), after);
    }

    #[test]
    fn a_flipped_bit_is_reported_with_its_offset(
        steps in steps(20), place in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let Written { files, mut log, lengths, .. } = write(&steps);
        let place = place.index(log.len());
        log[place] ^= 1 << bit;
        files.put(LOG_NAME, log.clone());
        let start = lengths.iter().rfind(|length| **length <= place).map_or(0, |length| *length as u64);
        match open(&files, NEVER).unwrap_err() {
            OpenError::Damaged { path, damage } => {
                prop_assert!(path.ends_with(LOG_NAME));
                prop_assert_eq!(damage.offset, start);
            }
            error => prop_assert!(false, "{}", error),
        }
        prop_assert_eq!(files.contents(LOG_NAME), log, "nothing was changed");
    }

    #[test]
    fn acknowledged_writes_survive_a_power_loss(
        steps in steps(40), off in 0..160_u64, seed in any::<[u8; 32]>(),
    ) {
        let files = FakeFiles::default();
        let store = open(&files, EAGER).unwrap();
        files.fail(Some(Fault::From(files.operations() + off)));
        let mut possible = vec![state(&store)];
        for step in &steps {
            let before = state(&store);
            match take(&store, *step) {
                Some(Ok(_)) => possible = vec![state(&store)],
                // The first failed write may have reached the disk, but none after it.
                Some(Err(WriteError::NotDurable(_))) => {
                    prop_assert_eq!(&state(&store), &before, "disk.D1");
                    if possible.len() == 1 {
                        possible.push(after(&before, *step, revision(&store) + 1));
                    }
                }
                Some(Err(error)) => prop_assert!(false, "{}", error),
                None => {}
            }
        }
        drop(store);
        let left = files.after_crash(choices(seed));
        let store = open(&left, EAGER).unwrap();
        let found = state(&store);
        prop_assert!(possible.contains(&found), "{found:#?} is not one of {possible:#?}");
        let kept = revision(&store);
        take(&store, (1, 10, false)).unwrap().unwrap();
        prop_assert_eq!(revision(&store), kept + 1, "store.T1");
    }
}

#[test]
fn reads_after_a_kill_survive_a_later_power_loss() {
    let steps: Vec<Step> = (0..40).map(|step| (step % 7, 100 + 20 * (step % 5), step % 6 == 5)).collect();
    for killed in 0.. {
        let files = FakeFiles::default();
        let store = open(&files, EAGER).unwrap();
        let at = files.operations() + killed;
        files.fail(Some(Fault::From(at)));
        for step in &steps {
            take(&store, *step);
        }
        drop(store);
        if files.operations() <= at {
            assert!(killed > 80, "there were {killed} operations");
            return;
        }
        // Everything the process has written survives, though not all of it was synced.
        files.fail(None);
        let store = open(&files, NEVER).unwrap();
        take(&store, (1, 50, false)).unwrap().unwrap();
        let seen = (state(&store), revision(&store));
        drop(store);
        // Nothing that was not synced since then survives.
        let left = files.after_crash(|below| below.min(2) - 1);
        let store = open(&left, NEVER).unwrap_or_else(|error| panic!("killed at {killed}: {error}"));
        assert_eq!((state(&store), revision(&store)), seen, "disk.D1, killed at {killed}");
    }
}

/// Returns the state that a change would lead to.
fn after(before: &State, (number, size, deletes): Step, revision: u64) -> State {
    let mut state = before.clone();
    let (collection, text) = place(number);
    let place = (collection.to_string(), text.clone());
    if deletes {
        drop(state.remove(&place));
    } else {
        let revision = Revision::new(revision);
        let created = before.get(&place).map_or(revision, |existing| existing.created());
        let stored = value(&text, &"x".repeat(size)).commit(created, revision);
        state.insert(place, Arc::new(stored));
    }
    state
}

#[test]
fn missing_sectors_in_the_middle_of_a_log_are_an_error() {
    let steps: Vec<Step> = (0..8).map(|number| (number, 600, false)).collect();
    let Written { files, mut log, lengths, .. } = write(&steps);
    let start = lengths[2].next_multiple_of(512);
    log[start..start + 512].fill(0);
    files.put(LOG_NAME, log);
    let error = open(&files, NEVER).unwrap_err().to_string();
    let expected = format!(
        "fake/{LOG_NAME} is damaged at byte {}: the record is unreadable, but more records follow; restore the data directory from a copy, or start with --recover to keep what can be read and lose the rest",
        lengths[2]
    );
    assert_eq!(error, expected);
}
