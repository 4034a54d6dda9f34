//! Checks that the guides for users of client-go and kube-rs show the same tasks, side by side. The doctests of this crate
//! compile their code.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

const TASKS: [&str; 15] = [
    "List with a selector",
    "Watch",
    "Informer with index",
    "Filtered handler",
    "Typed reader",
    "Controller with owned objects",
    "Finalizer",
    "Leader election",
    "Event recorder",
    "Server-side apply",
    "Exec",
    "Discovery",
    "Paging",
    "Dynamic objects",
    "Test cluster",
];

/// The section of a guide says so if kube-rs cannot do the task.
const KUBE_RS_CANNOT: &str = "kube-rs has none";

/// Maximum width of Rust code: rustfmt's default, with which `.ci/guides` checks the examples of both sides.
const WIDTH: usize = 100;

/// A section of a guide.
struct Section {
    title: String,
    text: String,
}

/// A fenced code block.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    language: &'a str,
    code: &'a str,
}

fn read(guide: &str) -> Vec<Section> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(guide);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sections = text.split("\n## ").skip(1).map(|section| {
        let (title, text) = section.split_once('\n').unwrap();
        Section { title: title.to_owned(), text: text.to_owned() }
    });
    sections.collect()
}

/// Returns the sections of the fifteen tasks, in the order of the guide.
fn tasks(guide: &str) -> Vec<Section> {
    read(guide).into_iter().filter(|section| TASKS.contains(&section.title.as_str())).collect()
}

fn blocks(section: &Section) -> Vec<Block<'_>> {
    let fenced = section.text.split("```").skip(1).step_by(2);
    fenced
        .map(|block| block.split_once('\n').unwrap())
        .map(|(language, code)| Block { language, code })
        .collect()
}

/// Returns the code lines: neither blank nor comments.
fn lines<'a>(block: &Block<'a>) -> Vec<&'a str> {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    block.code.lines().filter(is_code).collect()
}

/// Returns the two blocks of a section: theirs and ours.
fn both(section: &Section) -> (Block<'_>, Block<'_>) {
    let mut blocks = blocks(section).into_iter();
    match (blocks.next(), blocks.next(), blocks.next()) {
        (Some(theirs), Some(ours), None) => (theirs, ours),
        _ => panic!("{:?} has other than two code blocks", section.title),
    }
}

#[test]
fn both_guides_have_the_same_tasks_in_the_same_order() {
    for guide in ["from-client-go.md", "from-kube-rs.md"] {
        let titles: Vec<String> = tasks(guide).into_iter().map(|section| section.title).collect();
        assert_eq!(titles, TASKS, "{guide}");
    }
}

#[test]
fn every_task_has_their_code_and_ours() {
    // Only blocks of the language `rust`, without attributes such as `ignore`, are compiled by the doctests.
    for (guide, language) in [("from-client-go.md", "go"), ("from-kube-rs.md", "rust")] {
        for section in tasks(guide) {
            let (theirs, ours) = both(&section);
            assert_eq!((theirs.language, ours.language), (language, "rust"), "{guide}: {}", section.title);
            for block in [theirs, ours] {
                assert!(lines(&block).len() >= 5, "{guide}: {} has hardly any code", section.title);
                let is_wide = |line: &&str| block.language == "rust" && line.chars().count() > WIDTH;
                let wide = block.code.lines().find(is_wide);
                assert_eq!(
                    wide, None,
                    "{guide}: {} has a line of more than {WIDTH} characters",
                    section.title
                );
            }
        }
    }
}

#[test]
fn our_code_is_the_same_in_both_guides() {
    for (go, kube) in tasks("from-client-go.md").iter().zip(&tasks("from-kube-rs.md")) {
        assert_eq!(lines(&both(go).1), lines(&both(kube).1), "{}", kube.title);
    }
}

#[test]
fn our_code_is_not_longer_than_the_code_of_kube_rs() {
    let mut cannot = Vec::new();
    for section in tasks("from-kube-rs.md") {
        let (theirs, ours) = both(&section);
        let (theirs, ours) = (lines(&theirs).len(), lines(&ours).len());
        if section.text.contains(KUBE_RS_CANNOT) {
            cannot.push(section.title);
        } else {
            assert!(ours <= theirs, "{}: {ours} lines instead of {theirs}", section.title);
        }
    }
    assert_eq!(cannot, ["Leader election", "Test cluster"]);
}

#[test]
fn our_code_uses_the_facade() {
    for guide in ["from-client-go.md", "from-kube-rs.md"] {
        for section in read(guide) {
            for block in blocks(&section) {
                assert!(
                    !block.code.contains("watchkeeper_"),
                    "{guide}: {} uses a part directly",
                    section.title
                );
            }
        }
    }
}
