//! Definitions that are refused. `oracle/tests/custom_schemas.rs` compares the messages with kube-apiserver's.

use serde_json::{Value, json};

use super::{check, check_update};

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}},
            }}],
        },
    })
}

fn messages(causes: &[watchkeeper_core::StatusCause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn with_schema(spec: Value) -> Vec<String> {
    let mut definition = definition();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec;
    messages(&check(&definition))
}

const AT: &str = "spec.validation.openAPIV3Schema.properties[spec]";

#[test]
fn a_plain_definition_is_accepted() {
    assert_eq!(check(&definition()), []);
}

#[test]
fn the_name_must_be_the_resource_and_its_group() {
    let mut odd = definition();
    odd["metadata"]["name"] = json!("other.example.com");
    odd["spec"]["group"] = json!("plain");
    odd["spec"]["scope"] = json!("Wide");
    assert_eq!(
        messages(&check(&odd)),
        [
            r#"metadata.name: Invalid value: "other.example.com": must be spec.names.plural+"."+spec.group"#,
            r#"spec.group: Invalid value: "plain": should be a domain with at least one dot"#,
            r#"spec.scope: Unsupported value: "Wide": supported values: "Cluster", "Namespaced""#,
        ]
    );
}

#[test]
fn one_version_must_be_stored_and_each_must_have_a_schema() {
    let mut odd = definition();
    odd["spec"]["versions"] = json!([{"name": "v1", "served": true, "storage": false}]);
    assert_eq!(
        messages(&check(&odd)),
        [
            "spec.versions[0].schema.openAPIV3Schema: Required value",
            r#"spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version"#,
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ]
    );
}

#[test]
fn a_schema_must_be_structural() {
    let cases = [
        (json!({}), vec![".type: Required value: must not be empty for specified object fields"]),
        (json!({"type": "array"}), vec![".items: Required value: must be specified"]),
        (
            json!({"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}]}),
            vec![".allOf[0].properties[a].type: Forbidden: must be empty to be structural"],
        ),
        (
            json!({"type": "string", "pattern": "[a"}),
            vec![
                ".pattern: Invalid value: \"[a\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[a`",
            ],
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            vec![
                ".items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            json!({"type": "text"}),
            vec![
                ".type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            ],
        ),
        (
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            vec![],
        ),
    ];
    for (schema, expected) in cases {
        let mut expected: Vec<String> = expected.into_iter().map(|why| format!("{AT}{why}")).collect();
        expected.sort();
        let mut found = with_schema(schema);
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_constraint_at_the_root_needs_an_existing_field() {
    let mut odd = definition();
    let schema = &mut odd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["anyOf"] = json!([{"properties": {"a": {"minLength": 1}}}]);
    assert_eq!(
        messages(&check(&odd)),
        [
            "spec.validation.openAPIV3Schema.properties[a]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[a]",
        ]
    );
}

#[test]
fn a_default_must_be_valid_and_pruned() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "default": "x"},
        "b": {"type": "object", "default": {"c": 1}},
    }});
    assert_eq!(
        with_schema(schema),
        [
            format!(
                r#"{AT}.properties[a].default: Invalid value: "string":  in body must be of type integer: "string""#
            ),
            format!(r#"{AT}.properties[b].default: Invalid value: {{"c":1}}: must not have unknown fields"#),
        ]
    );
}

#[test]
fn with_several_versions_paths_name_the_version() {
    let mut odd = definition();
    let mut second = odd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "properties": {"spec": {"type": "array"}}});
    second["additionalPrinterColumns"] = json!([{"name": "A", "type": "text", "jsonPath": "a"}]);
    odd["spec"]["versions"].as_array_mut().unwrap().push(second);
    assert_eq!(
        messages(&check(&odd)),
        [
            "spec.versions[1].schema.openAPIV3Schema.properties[spec].items: Required value: must be specified",
            r#"spec.versions[1].additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string"#,
            r#"spec.versions[1].additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with ."#,
        ]
    );
}

#[test]
fn fields_that_the_storage_depends_on_are_immutable() {
    let mut old = definition();
    old["status"] =
        json!({"storedVersions": ["v1"], "conditions": [{"type": "Established", "status": "True"}]});
    let mut new = old.clone();
    new["spec"]["scope"] = json!("Cluster");
    new["spec"]["versions"][0]["name"] = json!("v2");
    let found = messages(&check_update(&new, &old));
    assert_eq!(found[0], r#"spec.scope: Invalid value: "Cluster": field is immutable"#);
    assert!(
        found[1]
            .starts_with(r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1"#)
    );
    assert_eq!(check_update(&old, &old), []);
}

#[test]
fn a_conversion_webhook_needs_a_client_and_versions() {
    let mut odd = definition();
    odd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"url": "http://a"}, "conversionReviewVersions": ["v9", "v9"],
    }});
    assert_eq!(
        messages(&check(&odd)),
        [
            r#"spec.conversion.webhookClientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]"#,
            r#"spec.conversion.conversionReviewVersions[1]: Invalid value: "v9": duplicate version"#,
            r#"spec.conversion.conversionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1"#,
        ]
    );
}
