//! Field paths and sets of them: parsed paths print and parse to the same path, and a set contains all of its paths.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_wire::protobuf::Cut;
use watchkeeper_wire::{FieldPath, Kind, Node, Paths, schema};

/// Returns whether the set has the path or a prefix of it.
fn has(paths: &Paths, segments: &[&str]) -> bool {
    match (segments.split_first(), segments.first().and_then(|name| paths.get(name))) {
        (Some(_), Some(Node::Whole)) => true,
        (Some((_, rest)), Some(Node::Below(paths))) => has(paths, rest),
        _ => false,
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    let paths: Vec<FieldPath> = text.lines().filter_map(|line| line.parse().ok()).collect();
    let set: Paths = paths.iter().cloned().collect();
    for path in &paths {
        assert!(!path.segments().is_empty());
        assert_eq!(path.to_string().parse().as_ref(), Ok(path));
        assert!(has(&set, &path.segments()));
    }
    let mut reversed = Paths::none();
    paths.iter().rev().for_each(|path| reversed.add(path));
    for path in &paths {
        assert!(has(&reversed, &path.segments()));
    }
    for kind in
        [Kind::new("", "v1", "Pod"), Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")]
    {
        let message = kind.message().expect("the kind is built in");
        let known: Paths = paths
            .iter()
            .filter(|path| {
                Cut::compile(schema::builtin(), message, &Paths::from_iter([(*path).clone()])).is_ok()
            })
            .cloned()
            .collect();
        Cut::compile(schema::builtin(), message, &known).expect("the kind has all of these fields");
        let _ = Cut::compile(schema::builtin(), message, &set);
    }
});
