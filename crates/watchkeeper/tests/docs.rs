//! Checks that the documents match the code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns every `path/to/file.rs::name_of_test` that a document puts between backticks.
fn named_tests(document: &str) -> Vec<(&str, &str)> {
    let quoted = document.split('`').skip(1).step_by(2);
    quoted.filter_map(|text| text.split_once(".rs::")).collect()
}

#[test]
fn tests_named_in_parity_exist() {
    let parity = read("docs/parity.md");
    let named = named_tests(&parity);
    assert!(named.len() > 50, "only {} tests are named", named.len());
    let missing: Vec<String> = named
        .into_iter()
        .filter(|(file, test)| {
            let source = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
            !source.contains(&format!("fn {test}("))
        })
        .map(|(file, test)| format!("{file}.rs::{test}"))
        .collect();
    assert!(missing.is_empty(), "docs/parity.md names tests that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn links_between_documents_resolve() {
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/parity.md",
        "docs/benchmarks.md",
        "docs/from-client-go.md",
        "docs/from-kube-rs.md",
        "docs/decisions/README.md",
        "oracle/README.md",
    ];
    let mut broken = Vec::new();
    for document in documents {
        let text = read(document);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let folder = root().join(document);
            let exists = folder.parent().is_some_and(|folder| folder.join(target).exists());
            if !target.is_empty() && !target.contains("://") && !exists {
                broken.push(format!("{document}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Returns `a/x` and `a/y` for `a/{x,y}`.
fn expand(path: &str) -> Vec<String> {
    let Some((before, (inner, after))) =
        path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    else {
        return vec![path.to_owned()];
    };
    inner.split(',').map(|part| format!("{before}{part}{after}")).collect()
}

#[test]
fn paths_in_the_table_of_changes_exist() {
    let architecture = read("ARCHITECTURE.md");
    let (_, rest) = architecture.split_once("## Where to change what").unwrap();
    let (table, _) = rest.split_once("\n## ").unwrap();
    let quoted = table.split('`').skip(1).step_by(2);
    let paths = quoted.filter(|text| text.contains('/') && !text.ends_with('-')).flat_map(expand);
    let (mut checked, mut missing) = (0, Vec::new());
    for path in paths {
        let places = [root().join(format!("crates/watchkeeper-{path}")), root().join(&path)];
        if !places.iter().any(|place| place.exists()) {
            missing.push(path);
        }
        checked += 1;
    }
    assert!(checked > 50, "only {checked} paths are named");
    assert!(missing.is_empty(), "ARCHITECTURE.md names paths that do not exist:\n{}", missing.join("\n"));
}
