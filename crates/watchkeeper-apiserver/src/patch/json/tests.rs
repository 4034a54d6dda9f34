//! Examples of JSON patches; `oracle/tests/patches.rs` compares many more with kube-apiserver.

use serde_json::json;

use super::*;

fn patched(document: Value, patch: &Value) -> Result<Value, String> {
    apply(document, patch.to_string().as_bytes()).map_err(|error| format!("{}: {error}", error.code()))
}

#[test]
fn add_inserts_into_lists_appends_at_a_dash_and_sets_fields() {
    let patch = json!([
        {"op": "add", "path": "/list/0", "value": "first"},
        {"op": "add", "path": "/list/-", "value": "last"},
        {"op": "add", "path": "/map/key", "value": {}},
    ]);
    let expected = json!({"list": ["first", "a", "last"], "map": {"key": {}}});
    assert_eq!(patched(json!({"list": ["a"], "map": {}}), &patch), Ok(expected));
}

#[test]
fn a_negative_index_counts_from_the_end() {
    let document = || json!({"l": ["a", "b", "c"]});
    let add = json!([{"op": "add", "path": "/l/-1", "value": "x"}]);
    assert_eq!(patched(document(), &add), Ok(json!({"l": ["a", "b", "c", "x"]})));
    let remove = json!([{"op": "remove", "path": "/l/-1"}]);
    assert_eq!(patched(document(), &remove), Ok(json!({"l": ["a", "b"]})));
    let far = json!([{"op": "remove", "path": "/l/-4"}]);
    assert_eq!(
        patched(document(), &far),
        Err("422: error in remove for path: '/l/-4': Unable to access invalid index: -4: invalid index referenced".into())
    );
}

#[test]
fn a_slash_and_a_tilde_in_a_key_are_escaped() {
    let document = json!({"annotations": {"example.com/a~b": "1"}});
    let patch = json!([{"op": "replace", "path": "/annotations/example.com~1a~0b", "value": "2"}]);
    assert_eq!(patched(document, &patch), Ok(json!({"annotations": {"example.com/a~b": "2"}})));
}

#[test]
fn a_failed_test_refuses_the_whole_patch() {
    let patch = json!([
        {"op": "add", "path": "/b", "value": 1},
        {"op": "test", "path": "/a", "value": 2},
    ]);
    assert_eq!(patched(json!({"a": 1}), &patch), Err("422: testing value /a failed: test failed".into()));
}

#[test]
fn a_test_of_a_missing_field_passes_for_null() {
    let patch = json!([{"op": "test", "path": "/a", "value": null}, {"op": "test", "path": "/b"}]);
    assert_eq!(patched(json!({}), &patch), Ok(json!({})));
}

#[test]
fn remove_needs_its_field_and_replace_does_not() {
    let remove = json!([{"op": "remove", "path": "/a"}]);
    let missing = "422: error in remove for path: '/a': Unable to remove nonexistent key: a: missing value";
    assert_eq!(patched(json!({}), &remove), Err(missing.into()));
    let replace = json!([{"op": "replace", "path": "/a", "value": 1}]);
    assert_eq!(patched(json!({}), &replace), Ok(json!({"a": 1})));
    let deep = json!([{"op": "replace", "path": "/a/b", "value": 1}]);
    let missing = "422: replace operation does not apply: doc is missing path: /a/b: missing value";
    assert_eq!(patched(json!({}), &deep), Err(missing.into()));
}

#[test]
fn move_and_copy_take_from_one_place_to_another() {
    let patch = json!([
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "move", "from": "/a/0", "path": "/c"},
    ]);
    assert_eq!(patched(json!({"a": [1, 2]}), &patch), Ok(json!({"a": [2], "b": [1, 2], "c": 1})));
}

#[test]
fn a_malformed_patch_is_a_bad_request() {
    let refused = |body: &[u8]| apply(json!({}), body).map_err(|error| (error.code(), error.to_string()));
    assert_eq!(refused(b"[{"), Err((400, "invalid JSON patch".into())));
    let text = "json: cannot unmarshal object into Go value of type jsonpatch.Patch";
    assert_eq!(refused(b"{}"), Err((400, text.into())));
    assert_eq!(refused(b"null"), Ok(json!({})));
}

#[test]
fn ten_thousand_operations_are_accepted_and_one_more_is_too_large() {
    let operations = |count| Value::Array(vec![json!({"op": "add", "path": "/a", "value": 1}); count]);
    assert_eq!(patched(json!({}), &operations(10_000)), Ok(json!({"a": 1})));
    let refused = "413: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(patched(json!({}), &operations(10_001)), Err(refused.into()));
}

#[test]
fn copies_that_double_the_document_end_at_the_limit() {
    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let refused =
        patched(json!({"a": ["x".repeat(1000)]}), &Value::Array(vec![double; 40])).expect_err("too much");
    assert!(refused.starts_with("422: Unable to complete the copy"), "{refused}");
}

#[test]
fn copies_and_moves_cannot_nest_without_bound() {
    let nest = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    let refused = patched(json!({"a": {}}), &Value::Array(vec![nest; 200]));
    assert_eq!(refused, Err("422: exceeded max depth".into()));

    let wrap: Vec<Value> = (0..200)
        .flat_map(|_| {
            [
                json!({"op": "add", "path": "/b", "value": {}}),
                json!({"op": "move", "from": "/a", "path": "/b/a"}),
                { json!({"op": "move", "from": "/b", "path": "/a"}) },
            ]
        })
        .collect();
    assert_eq!(patched(json!({"a": {}}), &Value::Array(wrap)), Err("422: exceeded max depth".into()));
}

#[test]
fn a_patched_object_of_the_maximum_depth_can_be_decoded() {
    let document = || json!({"b": {"b": {}}});
    let value = (2..MAX_DEPTH - 1).fold(json!({}), |inner, _| json!({"a": inner}));
    let add = |path: &str| json!([{"op": "add", "path": path, "value": value}]);

    let deepest = patched(document(), &add("/b/c")).expect("it is within the limit");
    assert_eq!(depth(&deepest), MAX_DEPTH);
    assert_eq!(serde_json::from_str::<Value>(&deepest.to_string()).expect("it can be read"), deepest);
    assert_eq!(patched(document(), &add("/b/b/c")), Err("422: exceeded max depth".into()));
}

#[test]
fn moves_between_depths_that_stay_shallow_are_not_refused() {
    let back_and_forth: Vec<Value> = (0..4000)
        .flat_map(|_| {
            [
                json!({"op": "move", "from": "/a", "path": "/b/c/a"}),
                json!({"op": "move", "from": "/b/c/a", "path": "/a"}),
            ]
        })
        .collect();
    let document = json!({"a": 1, "b": {"c": {}}});
    assert_eq!(patched(document.clone(), &Value::Array(back_and_forth)), Ok(document));
}
