//! Checks that the committed apply types match the schema and resource tables.
#![allow(clippy::unwrap_used, reason = "a failure to set up is a test failure")]

mod names;
mod render;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use selection::Selection;

/// If this variable is set, the files are written.
const WRITE: &str = "WATCHKEEPER_WRITE";

#[test]
fn the_committed_apply_types_are_current() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let types = package.join("src/apply/types");
    let rendered = render::files(&Selection::from_tables());
    if std::env::var_os(WRITE).is_some() {
        let _ = fs::remove_dir_all(&types);
        for (path, text) in &rendered {
            let path = package.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    let mut committed = BTreeMap::new();
    for path in files_under(&types).into_iter().chain([package.join(render::EVERY_KIND)]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        committed.insert(path.strip_prefix(package).unwrap().to_str().unwrap().replace('\\', "/"), text);
    }
    let differing: BTreeSet<&String> = committed
        .keys()
        .chain(rendered.keys())
        .filter(|path| committed.get(*path) != rendered.get(*path))
        .collect();
    assert!(
        differing.is_empty(),
        "{differing:?} do not match the tables; to regenerate: \
         {WRITE}=1 cargo test -p watchkeeper-kinds --test apply_is_current"
    );
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_under(&path));
        } else {
            files.push(path);
        }
    }
    files
}
