//! A side file on disks that fail.

use super::fake::Fault;
use super::*;

/// Returns the contents of the file, if it exists.
fn kept(files: &FakeFiles) -> Option<Vec<u8>> {
    open(files, NEVER).unwrap().keyring().read().unwrap()
}

#[test]
fn a_power_loss_leaves_the_old_file_or_the_new_one() {
    let (before, after) = (vec![1; 700], vec![2; 1500]);
    for first in [None, Some(before)] {
        for fault in 0.. {
            let files = FakeFiles::default();
            let store = open(&files, NEVER).unwrap();
            if let Some(first) = &first {
                store.keyring().write(first).unwrap();
            }
            files.fail(Some(Fault::From(files.operations() + fault)));
            let written = store.keyring().write(&after);
            drop(store);
            for seed in 0..60 {
                let mut state = seed;
                let left = files.after_crash(|bound| {
                    state = (state * 1_103_515_245 + 12_345) % (1 << 31);
                    state / 7 % bound
                });
                let found = kept(&left);
                match &written {
                    Ok(()) => assert_eq!(found.as_ref(), Some(&after), "side_file.B1"),
                    Err(_) => assert!(
                        found == first || found.as_ref() == Some(&after),
                        "side_file.B1: {fault} {seed}"
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
    let error = store.keyring().write(b"x").unwrap_err();
    assert!(error.to_string().ends_with("keyring"), "{error}");
    assert!(!files.list().unwrap().iter().any(|name| name.starts_with("keyring")));
    store.keyring().write(b"x").unwrap();
    drop(store);
    assert_eq!(kept(&files), Some(b"x".to_vec()));
}
