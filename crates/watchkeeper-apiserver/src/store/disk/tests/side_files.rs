//! Side files, on disks that fail.

use super::fake::Fault;
use super::*;

/// Returns the contents of the test's file, if it exists.
fn kept(files: &FakeFiles) -> Option<Vec<u8>> {
    open(files, NEVER).unwrap().side_files().read("kept").unwrap()
}

#[test]
fn a_power_loss_leaves_the_old_file_or_the_new_one() {
    let (before, after) = (vec![1; 700], vec![2; 1500]);
    for first in [None, Some(before)] {
        for fault in 0.. {
            let files = FakeFiles::default();
            let store = open(&files, NEVER).unwrap();
            if let Some(first) = &first {
                store.side_files().write("kept", first).unwrap();
            }
            files.fail(Some(Fault::From(files.operations() + fault)));
            let written = store.side_files().write("kept", &after);
            drop(store);
            for seed in 0..60 {
                let mut state = seed;
                let left = files.after_crash(|bound| {
                    state = (state * 1_103_515_245 + 12_345) % (1 << 31);
                    state / 7 % bound
                });
                let found = kept(&left);
                match &written {
                    Ok(()) => assert_eq!(found.as_ref(), Some(&after), "side_files.B1"),
                    Err(_) => assert!(
                        found == first || found.as_ref() == Some(&after),
                        "side_files.B1: {fault} {seed}"
                    ),
                }
            }
            if written.is_ok() {
                assert_eq!(fault, 5, "creating, appending, syncing, renaming and syncing the name");
                break;
            }
        }
    }
}

#[test]
fn a_disk_that_fails_once_is_named_and_leaves_no_draft() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let fault = files.operations() + 1;
    files.fail(Some(Fault::Once(fault)));
    let error = store.side_files().write("kept", b"x").unwrap_err();
    assert!(error.to_string().ends_with("kept"), "{error}");
    assert!(!files.list().unwrap().iter().any(|name| name.starts_with("kept")));
    store.side_files().write("kept", b"x").unwrap();
    drop(store);
    assert_eq!(kept(&files), Some(b"x".to_vec()));
}
