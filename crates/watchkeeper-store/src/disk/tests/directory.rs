//! A store in a real directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn open(path: &Path) -> Result<DiskStore, OpenError> {
    DiskStore::open(path, HistoryLimits::default())
}

#[test]
fn a_directory_is_made_for_its_owner_alone_and_used_by_one_store_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("some/data");
    let store = open(&path).unwrap();
    take(&store, (1, 100, false)).unwrap().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }));
    let text = format!("data directory {} is in use by another process", path.display());
    assert_eq!(error.to_string(), text);

    let before = state(&store);
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!(state(&store), before);
    assert_eq!(store.recovery().cut, None);
}

#[test]
fn files_of_others_are_left_alone_and_drafts_of_ours_are_removed() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("notes.tmp"), "mine").unwrap();
    fs::write(home.path().join("log-1"), "mine").unwrap();
    fs::write(home.path().join("log-00000000000000000007.tmp"), "half").unwrap();
    fs::write(home.path().join("keyring.tmp"), "half").unwrap();
    fs::write(home.path().join("high-water-mark.tmp"), "half").unwrap();
    drop(open(home.path()).unwrap());
    let mut names: Vec<_> =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["high-water-mark", "lock", "log-00000000000000000001", "log-1", "notes.tmp"]);
}

#[test]
fn an_unusable_directory_is_named_in_the_error() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("file");
    fs::write(&path, "").unwrap();
    let error = open(&path).unwrap_err();
    assert_eq!(error.to_string(), format!("failed to read or write {}", path.display()));
}

#[test]
fn a_torn_end_of_a_real_log_is_cut_off_and_snapshots_replace_real_files() {
    let home = tempfile::tempdir().unwrap();
    let small = || {
        let files = Directory::open(home.path()).unwrap();
        DiskStore::on(files, HistoryLimits::default(), EAGER, LossPolicy::Refused).unwrap()
    };
    let store = small();
    for step in 0..60 {
        take(&store, (step % 5, 100, false)).unwrap().unwrap();
    }
    let before = state(&store);
    drop(store);
    let log = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path());
    let log = log.filter(|path| path.to_str().unwrap().contains("/log-")).last().unwrap();
    let length = fs::metadata(&log).unwrap().len();
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend_from_slice(b"\xd7rec and no more");
    fs::write(&log, bytes).unwrap();

    let store = small();
    assert_eq!(state(&store), before);
    let cut = store.recovery().cut.clone().unwrap();
    let text = format!("16 bytes of an unfinished write were cut off {} at byte {length}", log.display());
    assert_eq!(cut.to_string(), text);
    assert_eq!(fs::metadata(&log).unwrap().len(), length);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 4, "lock, mark, snapshot and log");
}

#[test]
fn files_readable_by_others_become_private() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path()).unwrap();
    store.keyring().write(b"secret").unwrap();
    drop(store);
    let names = ["keyring", "high-water-mark", "log-00000000000000000001", "lock"];
    for name in names {
        fs::set_permissions(home.path().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(open(home.path()).unwrap());
    for name in names {
        assert_eq!(
            fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{name}"
        );
    }
}

#[test]
fn a_fifo_in_place_of_a_file_is_an_error_and_does_not_block_the_start() {
    for name in ["keyring", "high-water-mark", "log-00000000000000000001", "lock"] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name);
        drop(open(home.path()).unwrap());
        let _may_not_be_there = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = open(home.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("failed to read or write {}", path.display()));
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.to_string(), "not a regular file");
    }
}
