//! The apply types that are committed are those that the tables of schemas and resources give.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod names;
mod render;
mod selection;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use selection::Selection;

/// With this variable set, the files are written instead.
const WRITE: &str = "WATCHKEEPER_WRITE";

#[test]
fn the_committed_types_are_those_of_the_tables() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let types = package.join("src/apply/types");
    let rendered = render::files(&Selection::of_the_tables());
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
        "{differing:?} differ from what the tables give: \
         `{WRITE}=1 cargo test -p watchkeeper-kinds --test apply_is_current` writes them anew"
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
