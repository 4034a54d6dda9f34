//! Reading and pruning of JSON objects.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod documents;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use watchkeeper_core::{Encoding, ObjectMetaBuilder};
use watchkeeper_wire::json::{cut, read_object, read_object_meta};
use watchkeeper_wire::{Annotations, FieldPath, Limits, Node, Paths, Problem, ReadOptions};

fn paths(texts: &[&str]) -> Paths {
    texts.iter().map(|text| text.parse::<FieldPath>().unwrap()).collect()
}

fn cut_text(object: &str, texts: &[&str]) -> String {
    String::from_utf8(cut(object.as_bytes(), &paths(texts)).unwrap().into()).unwrap()
}

#[test]
fn a_removed_member_takes_one_comma_with_it() {
    let object = r#"{"a":1,"b":2,"c":3}"#;
    assert_eq!(cut_text(object, &["a"]), r#"{"b":2,"c":3}"#);
    assert_eq!(cut_text(object, &["b"]), r#"{"a":1,"c":3}"#);
    assert_eq!(cut_text(object, &["c"]), r#"{"a":1,"b":2}"#);
    assert_eq!(cut_text(object, &["a", "b"]), r#"{"c":3}"#);
    assert_eq!(cut_text(object, &["b", "c"]), r#"{"a":1}"#);
    assert_eq!(cut_text(object, &["a", "c"]), r#"{"b":2}"#);
    assert_eq!(cut_text(object, &["a", "b", "c"]), "{}");
    assert_eq!(cut_text(object, &[]), object);
    assert_eq!(cut_text(object, &["d", "a.x", "a.b.c"]), object);
}

#[test]
fn paths_through_a_list_apply_to_each_element() {
    let object = r#"{"list":[{"a":1,"b":2},{"b":3},[{"a":4}],"a",null],"a":5}"#;
    assert_eq!(cut_text(object, &["list.a"]), r#"{"list":[{"b":2},{"b":3},[{}],"a",null],"a":5}"#);
}

#[test]
fn an_object_that_loses_all_fields_becomes_empty() {
    assert_eq!(cut_text(r#"{"m":{"a":1,"b":{"c":2}}}"#, &["m.a", "m.b.c"]), r#"{"m":{"b":{}}}"#);
}

#[test]
fn all_but_some_fields_can_be_pruned() {
    let object = r#"{"metadata":{"name":"a","managedFields":[1]},"spec":{"x":1,"list":[{"a":1,"b":2},3],"y":{"z":1}},"s":2}"#;
    let keeping = |texts: &[&str]| {
        let paths = texts.iter().map(|text| text.parse::<FieldPath>().unwrap());
        let read_options = ReadOptions::keeping(paths);
        let read = read_object(object.as_bytes(), &read_options, &mut ObjectMetaBuilder::default()).unwrap();
        assert_eq!(read.encoded.body, cut(object.as_bytes(), &read_options.cut).unwrap());
        String::from_utf8(read.encoded.body.into()).unwrap()
    };
    assert_eq!(keeping(&[]), r#"{"metadata":{"name":"a"}}"#);
    assert_eq!(
        keeping(&["spec.list.b", "s"]),
        r#"{"metadata":{"name":"a"},"spec":{"list":[{"b":2},3]},"s":2}"#
    );
    assert_eq!(
        keeping(&["metadata.managedFields", "spec.y", "spec.y.z"]),
        r#"{"metadata":{"name":"a","managedFields":[1]},"spec":{"y":{"z":1}}}"#
    );
}

#[test]
fn whitespace_and_escaped_keys_are_accepted() {
    let object = "{ \"a\" : 1 ,\n \"\\u0062\" : [ 2 ] ,\n \"c\" : 3 }";
    assert_eq!(cut_text(object, &["b"]), "{ \"a\" : 1 ,\n \"c\" : 3 }");
    assert_eq!(cut_text(object, &["a", "b"]), "{\"c\" : 3 }");
    assert_eq!(cut_text(object, &["b", "c"]), "{ \"a\" : 1 }");
}

#[test]
fn quoted_map_keys_are_pruned() {
    let object = r#"{"metadata":{"annotations":{"a.b/c":"x","d":"y"}}}"#;
    assert_eq!(
        cut_text(object, &[r#"metadata.annotations["a.b/c"]"#]),
        r#"{"metadata":{"annotations":{"d":"y"}}}"#
    );
}

#[test]
fn an_object_truncated_at_any_byte_is_rejected() {
    let object =
        r#"{"metadata":{"name":"a","managedFields":[{"a":"\"]"}],"x":{}},"spec":{"list":[1,{"a":2}]}}"#;
    let paths = paths(&["metadata.managedFields", "spec.list.a"]);
    for end in 0..object.len() {
        let bytes = &object.as_bytes()[..end];
        let error = cut(bytes, &paths).unwrap_err();
        assert_eq!((error.offset, error.problem), (end as u64, Problem::Truncated));
        let read_options = ReadOptions { cut: paths.clone(), ..ReadOptions::default() };
        let error = read_object(bytes, &read_options, &mut ObjectMetaBuilder::default()).unwrap_err();
        assert_eq!((error.offset, error.problem), (end as u64, Problem::Truncated));
    }
}

#[test]
fn nesting_within_a_path_is_limited() {
    let object = format!(r#"{{"a":{}{}}}"#, "[".repeat(600), "]".repeat(600));
    for texts in [&["a.b"][..], &["a"][..], &[][..]] {
        let error = cut(object.as_bytes(), &paths(texts)).unwrap_err();
        assert_eq!((error.offset, error.problem), (5 + 511, Problem::TooDeep { limit: 512 }));
    }
}

#[test]
fn an_object_is_stored_without_type_and_pruned_fields() {
    let item = r#"{"metadata":{"name":"a","managedFields":[{}],"uid":"u"},"spec":{"x":1}}"#;
    let event = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"managedFields":[],"name":"a","uid":"u"},"spec":{"x":1}}"#;
    let turned = r#"{"metadata":{"name":"a","uid":"u","managedFields":null},"spec":{"x":1},"apiVersion":"v1","kind":"Pod"}"#;
    let mut builder = ObjectMetaBuilder::default();
    let objects = [item, event, turned]
        .map(|text| read_object(text.as_bytes(), &ReadOptions::default(), &mut builder).unwrap());
    for object in &objects {
        assert_eq!(object.encoded.encoding, Encoding::Json);
        assert_eq!(&*object.encoded.body, br#"{"metadata":{"name":"a","uid":"u"},"spec":{"x":1}}"#);
        assert_eq!((object.metadata.key().name(), object.metadata.uid()), ("a", "u"));
    }
}

#[test]
fn metadata_is_parsed_before_pruning() {
    let text = br#"{"metadata":{"name":"a","labels":{"x":"1","y":"2"},"annotations":{"n":"3"}},"spec":{}}"#;
    let read_options = ReadOptions {
        annotations: Annotations::Keep,
        cut: paths(&["metadata.labels.x", "metadata.annotations", "spec"]),
        ..ReadOptions::default()
    };
    let object = read_object(text, &read_options, &mut ObjectMetaBuilder::default()).unwrap();
    assert_eq!(&*object.encoded.body, br#"{"metadata":{"name":"a","labels":{"y":"2"}}}"#);
    assert_eq!((object.metadata.label("x"), object.metadata.annotation("n")), (Some("1"), Some("3")));

    let all = ReadOptions { cut: paths(&["metadata", "spec"]), ..ReadOptions::default() };
    let object = read_object(text, &all, &mut ObjectMetaBuilder::default()).unwrap();
    assert_eq!((&*object.encoded.body, object.metadata.key().name()), (b"{}".as_slice(), "a"));
}

#[test]
fn objects_beyond_the_limits_are_rejected() {
    let text = br#"{"metadata":{"name":"a"},"spec":[[]]}"#;
    let problem = |limits| {
        let read_options = ReadOptions { limits, ..ReadOptions::default() };
        read_object(text, &read_options, &mut ObjectMetaBuilder::default())
            .map(drop)
            .map_err(|error| error.problem)
    };
    let limits = Limits { object_bytes: text.len(), depth: 3, ..Limits::DEFAULT };
    assert_eq!(problem(limits), Ok(()));
    let short = Limits { object_bytes: text.len() - 1, ..limits };
    assert_eq!(problem(short), Err(Problem::TooLong { what: "object", limit: text.len() - 1 }));
    assert_eq!(problem(Limits { depth: 2, ..limits }), Err(Problem::TooDeep { limit: 2 }));
}

/// Prunes a tree: the reference implementation.
fn cut_value(value: &mut Value, paths: &Paths) {
    match value {
        Value::Object(map) => map.retain(|key, value| match paths.get(key) {
            Some(Node::Whole) => false,
            Some(Node::Below(paths)) => {
                cut_value(value, paths);
                true
            }
            None => true,
        }),
        Value::Array(elements) => elements.iter_mut().for_each(|element| cut_value(element, paths)),
        _ => {}
    }
}

/// Paths over common keys of arbitrary objects.
fn some_paths() -> impl Strategy<Value = Paths> {
    let path = prop::collection::vec("[abc]", 1..4).prop_map(|segments| segments.join(".").parse().unwrap());
    prop::collection::vec(path, 0..5).prop_map(|paths: Vec<FieldPath>| paths.into_iter().collect())
}

proptest! {
    #[test]
    fn pruning_agrees_with_pruning_a_tree(
        object in documents::object(), paths in some_paths(), pretty: bool
    ) {
        let mut value = Value::Object(object);
        let text = documents::text(&value, pretty);
        cut_value(&mut value, &paths);
        let body = cut(text.as_bytes(), &paths).unwrap();
        prop_assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), value);
    }

    #[test]
    fn corrupted_bytes_never_panic_and_pruned_json_is_json(
        object in documents::object(), paths in some_paths(), pretty: bool,
        wrong in prop::collection::vec((any::<Index>(), documents::nasty_byte()), 1..4)
    ) {
        let mut text = documents::text(&Value::Object(object), pretty).into_bytes();
        for (place, byte) in wrong {
            let place = place.index(text.len());
            text[place] = byte;
        }
        let body = cut(&text, &paths);
        if serde_json::from_slice::<Value>(&text).is_ok_and(|value| value.is_object()) {
            prop_assert!(serde_json::from_slice::<Value>(&body.unwrap()).is_ok());
        }
    }

    #[test]
    fn reading_an_object_is_parsing_metadata_and_pruning(
        mut object in documents::object(), metadata in documents::object(), paths in some_paths(), pretty: bool
    ) {
        object.insert("metadata".into(), Value::Object(metadata));
        object.insert("kind".into(), "Pod".into());
        object.insert("apiVersion".into(), "v1".into());
        let text = documents::text(&Value::Object(object), pretty);
        let mut without_type = paths.clone();
        ["kind", "apiVersion", "metadata.a.b"].iter().for_each(|path| without_type.add(&path.parse().unwrap()));
        let mut read_options = ReadOptions { cut: paths, annotations: Annotations::Keep, ..ReadOptions::default() };
        read_options.cut.add(&"metadata.a.b".parse().unwrap());

        let mut builder = ObjectMetaBuilder::default();
        let object = read_object(text.as_bytes(), &read_options, &mut builder).unwrap();
        prop_assert_eq!(Ok(object.metadata), read_object_meta(text.as_bytes(), Annotations::Keep, &mut builder));
        prop_assert_eq!(Ok(object.encoded.body), cut(text.as_bytes(), &without_type));
    }
}
