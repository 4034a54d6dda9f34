//! Claims about the lookup, and about what stays out of other modules.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Rules, lookup};
use crate::registry;

/// Files outside of `rules/` and `admission/` whose code names resources, and why.
const NAMED_ELSEWHERE: [(&str, &str); 4] = [
    ("http/request.rs", "`namespaces` is part of the grammar of paths"),
    ("http/impersonate.rs", "the resources that impersonation is authorized for"),
    ("first_objects.rs", "the objects of a new cluster"),
    ("read/encode.rs", "`events` is a Go package in a message"),
];

#[test]
fn every_built_in_row_has_rules_and_only_those_have() {
    for row in registry::builtin() {
        let found = lookup(&row.group, &row.version, &row.name);
        assert!(found.is_some(), "rules.R2: {}/{} {} is not in the lookup", row.group, row.version, row.name);
        assert_ne!(format!("{:?}", row.rules), "Custom", "{}", row.name);
    }
    assert!(lookup("example.com", "v1", "pods").is_none());
    assert_eq!(format!("{:?}", Rules::of("example.com", "v1", "pods")), "Custom");
}

#[test]
fn no_code_outside_of_the_lookup_selects_by_the_name_of_a_resource() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for file in sources(&root) {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let is_exempt = name.starts_with("rules/")
            || name.starts_with("admission/")
            || name.contains("tests")
            || NAMED_ELSEWHERE.iter().any(|(known, _)| *known == name);
        if is_exempt {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            if selects_by_resource(line) {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "rules.R1: ask the rules of the row instead:\n{}", found.join("\n"));
}

/// Returns whether a line compares with, or matches on, the plural name of a built-in resource.
fn selects_by_resource(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let compares = ["=>", "==", "!=", "matches!(", ".is("].iter().any(|mark| code.contains(mark));
    compares && registry::builtin().iter().any(|row| code.contains(&format!("\"{}\"", row.name)))
}

#[test]
fn the_check_finds_comparisons_and_matches() {
    assert!(selects_by_resource(r#"if resource.name == "pods" {"#));
    assert!(selects_by_resource(r#"("", "services") => begin(draft),"#));
    assert!(!selects_by_resource(r#"let services = all("services").await?;"#));
    assert!(!selects_by_resource(r#"// ("", "services") => begin(draft),"#));
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
