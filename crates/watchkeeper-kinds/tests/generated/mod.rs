//! Compares generated files with the committed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// If this variable is set, the files are written.
const WRITE: &str = "WATCHKEEPER_WRITE";

/// Checks that the committed files are current and that there are no others in the folder.
pub(crate) fn assert_current(folder: &str, test: &str, files: &BTreeMap<String, String>) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join(folder);
    if std::env::var_os(WRITE).is_some() {
        let _ = fs::remove_dir_all(&folder);
        for (path, text) in files {
            let path = package.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let committed: BTreeSet<String> = files_under(&folder)
        .into_iter()
        .map(|path| path.strip_prefix(package).unwrap().to_str().unwrap().replace('\\', "/"))
        .collect();
    let is_stale = |(path, text): &(&String, &String)| {
        fs::read_to_string(package.join(path)).ok().as_deref() != Some(text.as_str())
    };
    let stale = files.iter().filter(is_stale).map(|(path, _)| path);
    let wrong: BTreeSet<&String> =
        stale.chain(committed.iter().filter(|path| !files.contains_key(*path))).collect();
    assert!(
        wrong.is_empty(),
        "{wrong:?} do not match the tables; to regenerate: {WRITE}=1 cargo test -p watchkeeper-kinds --test {test}"
    );
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_under(&path));
        } else {
            files.push(path);
        }
    }
    files
}
