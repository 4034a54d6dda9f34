//! Examples of strategic merge patches; `oracle/tests/patches.rs` compares many more with kube-apiserver.

use serde_json::{Value, json};
use watchkeeper_wire::schema;

use super::apply;

fn patched(kind: (&str, &str, &str), document: Value, patch: Value) -> Result<Value, String> {
    let (group, version, kind) = kind;
    let schema = schema::builtin();
    let message = schema.message(group, version, kind).expect("the kind is built in");
    apply(document, patch, schema, message).map_err(|error| format!("{}: {error}", error.code()))
}

/// Patches the spec of a pod.
fn pod(spec: impl Into<Value>, patch: impl Into<Value>) -> Result<Value, String> {
    let (document, patch) = (json!({"spec": spec.into()}), json!({"spec": patch.into()}));
    Ok(patched(("", "v1", "Pod"), document, patch)?["spec"].take())
}

/// Patches the finalizers of a config map, and whatever else of its metadata.
fn finalizers(finalizers: &[&str], patch: impl Into<Value>) -> Result<Value, String> {
    let document = json!({"metadata": {"finalizers": finalizers}});
    let patch = json!({"metadata": patch.into()});
    Ok(patched(("", "v1", "ConfigMap"), document, patch)?["metadata"]["finalizers"].take())
}

#[test]
fn elements_are_merged_by_their_key_and_new_ones_come_first() {
    let spec = json!({"containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]});
    let patch = json!({"containers": [{"name": "c"}, {"name": "b", "image": "z"}]});
    let expected =
        json!({"containers": [{"name": "c"}, {"name": "a", "image": "x:1"}, {"name": "b", "image": "z"}]});
    assert_eq!(pod(spec, patch), Ok(expected));
}

#[test]
fn the_key_may_be_a_number() {
    let service = |patch| patched(("", "v1", "Service"), json!({"spec": {"ports": [{"port": 80}]}}), patch);
    let named = json!({"spec": {"ports": [{"port": 80, "name": "http"}]}});
    assert_eq!(service(named.clone()), Ok(named));
}

#[test]
fn a_list_without_a_merge_strategy_is_replaced() {
    let spec = json!({"tolerations": [{"key": "a"}]});
    let patch = json!({"tolerations": [{"key": "b"}]});
    assert_eq!(pod(spec, patch.clone()), Ok(patch));
}

#[test]
fn null_deletes_a_field_and_is_not_stored_where_there_was_none() {
    let spec = json!({"nodeName": "n", "nodeSelector": {"a": "1", "b": "2"}});
    let patch = json!({"nodeName": null, "hostname": null, "nodeSelector": {"a": null}, "dnsConfig": {"options": null}});
    assert_eq!(pod(spec, patch), Ok(json!({"nodeSelector": {"b": "2"}, "dnsConfig": {}})));
}

#[test]
fn an_element_is_deleted_by_its_key() {
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let patch = json!({"containers": [{"name": "a", "$patch": "delete"}]});
    assert_eq!(pod(spec, patch), Ok(json!({"containers": [{"name": "b"}]})));
}

#[test]
fn an_element_with_a_directive_replaces_the_merged_list() {
    let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let patch = json!({"containers": [{"name": "c"}, {"$patch": "replace"}]});
    assert_eq!(pod(spec, patch), Ok(json!({"containers": [{"name": "c"}]})));
}

#[test]
fn an_object_is_replaced_or_emptied_by_its_directive() {
    let spec = || json!({"securityContext": {"runAsUser": 1, "fsGroup": 2}});
    let replace = json!({"securityContext": {"$patch": "replace", "runAsUser": 3}});
    assert_eq!(pod(spec(), replace), Ok(json!({"securityContext": {"runAsUser": 3}})));
    let delete = json!({"securityContext": {"$patch": "delete"}});
    assert_eq!(pod(spec(), delete), Ok(json!({"securityContext": {}})));
    let merge = json!({"securityContext": {"$patch": "merge"}});
    assert_eq!(
        pod(spec(), merge),
        Err("500: unknown patch type: merge in map: map[$patch:merge]".to_owned())
    );
}

#[test]
fn retained_keys_clear_all_others() {
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {}, "secret": {"secretName": "s"}}]});
    let patch =
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/p"}}]});
    assert_eq!(
        pod(volumes.clone(), patch),
        Ok(json!({"volumes": [{"name": "v", "hostPath": {"path": "/p"}}]}))
    );
    let unnamed = json!({"volumes": [{"name": "v", "$retainKeys": ["name"], "hostPath": {}}]});
    assert_eq!(pod(volumes, unnamed), Err("400: invalid patch format of retainKeys".to_owned()));
}

#[test]
fn set_element_order_holds_and_other_elements_keep_their_place() {
    let named = |names: &[&str]| json!(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let spec = json!({"containers": named(&["a", "sidecar", "b"])});
    let patch = json!({
        "$setElementOrder/containers": named(&["b", "new", "a"]),
        "containers": named(&["new"]),
    });
    // The sidecar was between a and b, and b comes first now.
    assert_eq!(pod(spec, patch), Ok(json!({"containers": named(&["sidecar", "b", "new", "a"])})));
}

#[test]
fn a_new_element_in_place_of_a_deleted_one_follows_live_elements() {
    let named = |names: &[&str]| json!(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let order = named(&["b", "new"]);
    let spec = || json!({"containers": named(&["a", "b", "sidecar"])});
    let add = json!({"$setElementOrder/containers": order, "containers": [{"name": "new"}]});
    assert_eq!(pod(spec(), add), Ok(json!({"containers": named(&["a", "b", "new", "sidecar"])})));
    let swap = json!({
        "$setElementOrder/containers": order,
        "containers": [{"name": "new"}, {"name": "a", "$patch": "delete"}],
    });
    assert_eq!(pod(spec(), swap), Ok(json!({"containers": named(&["b", "sidecar", "new"])})));
}

#[test]
fn a_patch_must_be_in_the_order_that_it_sets() {
    let patch = json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]});
    let text = "500: The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n";
    assert_eq!(pod(json!({"containers": []}), patch), Err(text.to_owned()));
}

#[test]
fn values_are_added_once_and_deleted_by_a_parallel_list() {
    assert_eq!(finalizers(&["a", "b"], json!({"finalizers": ["b", "c"]})), Ok(json!(["a", "b", "c"])));
    assert_eq!(
        finalizers(&["a", "b", "c"], json!({"$deleteFromPrimitiveList/finalizers": ["a", "c"]})),
        Ok(json!(["b"]))
    );
    let patch = json!({"$setElementOrder/finalizers": ["c", "a"], "finalizers": ["c"]});
    assert_eq!(finalizers(&["a", "b"], patch), Ok(json!(["c", "a", "b"])));
}

#[test]
fn an_element_without_its_key_is_refused() {
    let text = "500: map: map[image:x] does not contain declared merge key: name";
    let patch = json!({"containers": [{"image": "x"}]});
    assert_eq!(pod(json!({"containers": [{"name": "a"}]}), patch), Err(text.to_owned()));
}

#[test]
fn a_directive_for_a_field_other_than_a_list_is_refused() {
    let order = |field: &str| pod(json!({}), json!({format!("$setElementOrder/{field}"): []}));
    assert_eq!(order("nodeName"), Err("500: expected slice or array type, but got: struct".to_owned()));
    let text = "500: unable to find api field in struct PodSpec for the json field \"unknown\"";
    assert_eq!(order("unknown"), Err(text.to_owned()));
}

#[test]
fn unknown_fields_are_replaced() {
    let patch = json!({"unknown": {"a": [1, null], "b": null, "c": {"$patch": "delete"}}});
    assert_eq!(pod(json!({}), patch), Ok(json!({"unknown": {"a": [1, null]}})));
}

#[test]
fn an_untyped_object_has_no_mergeable_fields() {
    let revision = ("apps", "v1", "ControllerRevision");
    let data = || json!({"data": {"spec": {"a": 1}}});
    let text = "500: unable to find api field in struct RawExtension for the json field \"spec\"";
    assert_eq!(patched(revision, data(), data()), Err(text.to_owned()));
}

#[test]
fn the_values_of_a_map_are_merged_only_if_they_are_scalars() {
    let schema = ("authentication.k8s.io", "v1", "TokenReview");
    let extra = || json!({"status": {"user": {"extra": {"a": ["b"]}}}});
    let text = "500: merging an object in json but data type is not struct, instead is: map";
    assert_eq!(patched(schema, extra(), extra()), Err(text.to_owned()));
}

#[test]
fn what_go_panics_on_is_an_error() {
    let nulls = json!({"finalizers": [null]});
    assert_eq!(finalizers(&[], nulls).map_err(|text| text[..3].to_owned()), Err("500".to_owned()));
    let keys = json!({"containers": [{"name": {}}, {"name": {}}]});
    let refused = pod(json!({"containers": [{"name": "a"}]}), keys);
    assert_eq!(refused.map_err(|text| text[..3].to_owned()), Err("500".to_owned()));
}

#[test]
fn a_patch_other_than_an_object_is_a_bad_request() {
    let text = "400: json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(patched(("", "v1", "Pod"), json!({}), json!([])), Err(text.to_owned()));
    assert_eq!(patched(("", "v1", "Pod"), json!({}), json!(null)), Ok(json!({})));
}

#[test]
fn long_lists_are_merged_in_linear_time() {
    let list =
        |range: std::ops::Range<usize>| range.map(|n| json!({"name": format!("n{n}")})).collect::<Vec<_>>();
    let merged = pod(json!({"containers": list(0..50_000)}), json!({"containers": list(25_000..75_000)}));
    assert_eq!(merged.expect("they merge")["containers"].as_array().map(Vec::len), Some(75_000));
}
