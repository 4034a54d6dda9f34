//! Server-side apply, as stories of managers.

use proptest::prelude::*;
use serde_json::{Value, json};
use watchkeeper_core::{GroupVersionKind, Timestamp};

use super::{Applied, ApplyError, Managers, Reset, Subject, Writing, same_but_times};

/// One object and its managers.
struct Story {
    subject: Subject,
    api_version: &'static str,
    kind: &'static str,
    object: Value,
    managers: Managers,
    seconds: i64,
}

impl Story {
    fn new(api_version: &'static str, kind: &'static str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let reset = Reset::fields(&[&["status"]]);
        let subject = Subject::new(GroupVersionKind::new(group, version, kind), None, reset);
        Self { subject, api_version, kind, object: json!({}), managers: Managers::default(), seconds: 0 }
    }

    fn config_maps() -> Self {
        Self::new("v1", "ConfigMap")
    }

    fn typed(&self, mut object: Value) -> Value {
        object["apiVersion"] = self.api_version.into();
        object["kind"] = self.kind.into();
        object
    }

    fn attempt(&self, manager: &str, configuration: Value, force: bool) -> Result<Applied, ApplyError> {
        let by = Writing { manager, now: Timestamp { seconds: self.seconds, nanos: 0 } };
        let configuration = self.typed(configuration);
        self.subject.apply(&self.object, &json!({}), &configuration, self.managers.clone(), force, by)
    }

    fn settle(&mut self, outcome: Result<Applied, ApplyError>) -> Result<(), String> {
        self.seconds += 1;
        match outcome {
            Ok(applied) => {
                (self.object, self.managers) = (written(applied.object), applied.managers);
                Ok(())
            }
            Err(ApplyError::Conflicts(conflicts)) => Err(conflicts.status().message),
            Err(ApplyError::Misfits(misfits)) => Err(misfits.to_string()),
        }
    }

    fn apply(&mut self, manager: &str, configuration: Value) -> Result<(), String> {
        let outcome = self.attempt(manager, configuration, false);
        self.settle(outcome)
    }

    fn force(&mut self, manager: &str, configuration: Value) {
        let outcome = self.attempt(manager, configuration, true);
        self.settle(outcome).unwrap();
    }

    fn update(&mut self, manager: &str, object: Value) {
        let object = self.typed(object);
        let by = Writing { manager, now: Timestamp { seconds: self.seconds, nanos: 0 } };
        self.managers = self.subject.update(&self.object, &object, self.managers.clone(), by);
        self.object = object;
        self.seconds += 1;
    }

    /// Returns a line per manager: `a Apply .data.x .data.y`.
    fn owners(&self) -> Vec<String> {
        let entries = self.managers.json().unwrap_or_default();
        let line = |entry: &Value| {
            let fields = super::FieldSet::parse(&entry["fieldsV1"]).unwrap();
            let paths: Vec<String> = fields.paths().iter().map(ToString::to_string).collect();
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("manager"), text("operation"), paths.join(" "))
        };
        entries.as_array().into_iter().flatten().map(line).collect()
    }
}

/// Returns the stored form: without empty values.
fn written(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, written(value)));
            fields
                .filter(|(_, value)| {
                    !matches!(value, Value::Null) && *value != json!([]) && *value != json!({})
                })
                .collect()
        }
        Value::Array(items) => items.into_iter().map(written).collect(),
        other => other,
    }
}

#[test]
fn an_applier_owns_what_it_applies() {
    let mut story = Story::config_maps();
    story.apply("a", json!({"metadata": {"name": "n"}, "data": {"x": "1"}})).unwrap();
    story.apply("b", json!({"metadata": {"name": "n"}, "data": {"y": "1"}})).unwrap();
    assert_eq!(story.object["data"], json!({"x": "1", "y": "1"}));
    assert_eq!(story.owners(), ["a Apply .data.x", "b Apply .data.y"]);
}

#[test]
fn fields_given_up_are_removed_unless_another_manager_owns_them() {
    let mut story = Story::config_maps();
    story.apply("a", json!({"data": {"x": "1", "y": "1", "z": "1"}})).unwrap();
    story.apply("b", json!({"data": {"y": "1"}})).unwrap();
    story.update("u", json!({"data": {"x": "1", "y": "1", "z": "1", "w": "1"}}));
    story.apply("a", json!({"data": {"x": "1"}})).unwrap();
    assert_eq!(story.object["data"], json!({"x": "1", "y": "1", "w": "1"}));
    assert_eq!(story.owners(), ["b Apply .data.y", "a Apply .data.x", "u Update .data.w"]);
}

#[test]
fn a_conflict_names_managers_and_fields_and_force_resolves_it() {
    let mut story = Story::config_maps();
    story.apply("a", json!({"data": {"x": "1", "y": "1"}})).unwrap();
    let refused = story.apply("b", json!({"data": {"x": "2"}})).unwrap_err();
    assert_eq!(refused, r#"Apply failed with 1 conflict: conflict with "a": .data.x"#);
    story.update("u", json!({"data": {"x": "1", "y": "2"}}));
    let refused = story.apply("b", json!({"data": {"x": "2", "y": "1"}})).unwrap_err();
    let several = "Apply failed with 2 conflicts: conflicts with \"a\":\n- .data.x\nconflicts with \"u\" using v1:\n- .data.y";
    assert_eq!(refused, several);
    story.force("b", json!({"data": {"x": "2", "y": "1"}}));
    assert_eq!(story.owners(), ["b Apply .data.x .data.y"]);
    assert_eq!(story.object["data"], json!({"x": "2", "y": "1"}));
}

#[test]
fn fields_from_before_the_first_apply_are_owned() {
    let mut story = Story::config_maps();
    story.object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "n"}, "data": {"x": "1"}});
    let refused = story.apply("a", json!({"data": {"x": "2"}})).unwrap_err();
    assert_eq!(
        refused,
        r#"Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.x"#
    );
    story.apply("a", json!({"data": {"x": "1"}})).unwrap();
    assert_eq!(story.owners(), ["a Apply .data.x", "before-first-apply Update .data .data.x"]);
}

#[test]
fn an_object_that_was_never_applied_is_not_tracked() {
    let mut story = Story::config_maps();
    story.update("u", json!({"data": {"x": "1"}}));
    assert_eq!(story.owners(), Vec::<String>::new());
}

#[test]
fn kubectl_keeps_what_it_applied_client_side() {
    let last = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "1", "y": "1"}}).to_string();
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    let mut story = Story::config_maps();
    story.object =
        story.typed(json!({"metadata": {"annotations": annotations}, "data": {"x": "1", "y": "2"}}));
    assert!(story.apply("other", json!({"data": {"x": "2"}})).is_err());
    let refused = story.apply("kubectl", json!({"data": {"x": "2", "y": "3"}})).unwrap_err();
    assert_eq!(
        refused,
        r#"Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.y"#
    );
    story.apply("kubectl", json!({"data": {"x": "2"}})).unwrap();
    assert_eq!(story.object["data"], json!({"x": "2", "y": "2"}));
}

#[test]
fn lists_are_merged_by_key_and_keep_their_order() {
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let mut story = Story::new("v1", "Pod");
    story.apply("a", json!({"spec": {"containers": [container("x", "1"), container("y", "1")]}})).unwrap();
    story
        .apply("b", json!({"spec": {"containers": [container("z", "1"), {"name": "y", "stdin": true}]}}))
        .unwrap();
    let names = |story: &Story| -> Vec<String> {
        let containers = story.object["spec"]["containers"].as_array().into_iter().flatten();
        containers.map(|it| it["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names(&story), ["x", "z", "y"]);
    assert_eq!(story.object["spec"]["containers"][2], json!({"name": "y", "image": "1", "stdin": true}));
    story.apply("a", json!({"spec": {"containers": [container("x", "1")]}})).unwrap();
    assert_eq!(story.object["spec"]["containers"][2], json!({"name": "y", "stdin": true}));
    story.apply("b", json!({"spec": {"nodeName": "n"}})).unwrap();
    assert_eq!(names(&story), ["x"]);
}

#[test]
fn atomic_fields_are_replaced_as_a_whole() {
    let mut story = Story::new("v1", "Pod");
    story
        .apply("a", json!({"spec": {"nodeSelector": {"x": "1"}, "dnsConfig": {"nameservers": ["1"]}}}))
        .unwrap();
    let refused = story.apply("b", json!({"spec": {"nodeSelector": {"y": "1"}}})).unwrap_err();
    assert_eq!(refused, r#"Apply failed with 1 conflict: conflict with "a": .spec.nodeSelector"#);
    story.force("b", json!({"spec": {"nodeSelector": {"y": "1"}, "dnsConfig": {"nameservers": ["2"]}}}));
    assert_eq!(story.object["spec"]["nodeSelector"], json!({"y": "1"}));
    assert_eq!(story.object["spec"]["dnsConfig"]["nameservers"], json!(["2"]));
}

#[test]
fn type_errors_name_the_path() {
    let mut story = Story::new("v1", "Pod");
    for (configuration, refusal) in [
        (json!({"spec": {"bogus": 1}}), ".spec.bogus: field not declared in schema"),
        (
            json!({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}),
            r#".spec.containers: duplicate entries for key [name="a"]"#,
        ),
        (json!({"spec": {"priority": "x"}}), ".spec.priority: expected numeric (int or float), got string"),
    ] {
        assert_eq!(story.apply("a", configuration).unwrap_err(), refusal);
    }
}

#[test]
fn the_oldest_updates_are_merged() {
    let mut story = Story::config_maps();
    story.apply("a", json!({"data": {"x": "1"}})).unwrap();
    let mut data = json!({"x": "1"});
    for number in 0..12 {
        data[format!("k{number:02}")] = "1".into();
        story.update(&format!("u{number:02}"), json!({"data": data}));
    }
    let owners = story.owners();
    assert_eq!(owners.len(), 11, "{owners:?}");
    assert_eq!(owners[1], "ancient-changes Update .data.k00 .data.k01 .data.k02");
    assert_eq!(owners[10], "u11 Update .data.k11");
}

#[test]
fn times_and_order_of_managers_do_not_count_as_changes() {
    let entry = |manager: &str, time: &str| json!({"manager": manager, "operation": "Apply", "time": time});
    let before = json!([entry("a", "2020-01-01T00:00:00Z"), entry("b", "2020-01-01T00:00:00Z")]);
    let later = json!([entry("b", "2020-01-01T00:00:00Z"), entry("a", "2020-01-01T00:00:01Z")]);
    let other = json!([entry("b", "2020-01-01T00:00:00Z"), entry("c", "2020-01-01T00:00:00Z")]);
    assert!(same_but_times(&before, &later) && !same_but_times(&before, &other));
}

fn configurations() -> impl Strategy<Value = Value> {
    let item = ("[a-c]", proptest::option::of("[0-2]"), proptest::option::of(any::<bool>()));
    let containers = proptest::collection::btree_map("[a-d]", item, 0..4).prop_map(|items| {
        let containers = items.into_iter().map(|(name, (image, command, stdin))| {
            let mut container = json!({"name": name, "image": image});
            if let Some(command) = command {
                container["command"] = json!([command]);
            }
            if let Some(stdin) = stdin {
                container["stdin"] = stdin.into();
            }
            container
        });
        Value::Array(containers.collect())
    });
    let labels = proptest::collection::btree_map("[a-d]", "[0-2]", 0..4);
    let finalizers = proptest::collection::btree_set("[a-d]", 0..3);
    // Empty values are not stored, so they would be new each time.
    (containers, labels, finalizers).prop_map(|(containers, labels, finalizers)| {
        written(json!({
            "metadata": {"name": "n", "labels": labels, "finalizers": finalizers},
            "spec": {"containers": containers},
        }))
    })
}

/// Returns an object with sorted lists: an applier determines the order of its items.
fn unordered(mut object: Value) -> Value {
    for path in ["/metadata/finalizers", "/spec/containers"] {
        if let Some(Value::Array(items)) = object.pointer_mut(path) {
            items.sort_by_key(ToString::to_string);
        }
    }
    object
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(writes in proptest::collection::vec(("[a-c]", configurations()), 1..6)) {
        let mut story = Story::new("v1", "Pod");
        for (manager, configuration) in writes {
            story.force(&manager, configuration.clone());
            let (object, managers) = (story.object.clone(), story.managers.clone());
            story.apply(&manager, configuration).unwrap();
            prop_assert_eq!(&story.object, &object);
            let (before, after) = (managers.json().unwrap_or_default(), story.managers.json().unwrap_or_default());
            prop_assert!(same_but_times(&before, &after), "{before}\n{after}");
        }
    }

    #[test]
    fn what_others_own_stays_unless_it_is_forced(
        first in configurations(), second in configurations(), third in configurations(),
    ) {
        let mut story = Story::new("v1", "Pod");
        story.apply("a", first.clone()).unwrap();
        for configuration in [second, third] {
            let _ = story.apply("b", configuration); // may conflict
            let again = story.attempt("a", first.clone(), false);
            let again = again.map(|applied| unordered(written(applied.object)));
            prop_assert_eq!(again, Ok(unordered(story.object.clone())), "a lost something");
        }
    }

    #[test]
    fn who_gives_up_all_leaves_nothing(first in configurations(), second in configurations()) {
        let mut story = Story::new("v1", "Pod");
        story.apply("a", first).unwrap();
        let object = story.object.clone();
        story.force("b", second);
        story.apply("b", json!({"metadata": {"name": "n"}})).unwrap();
        let names = |object: &Value| -> Vec<String> {
            let containers = object["spec"]["containers"].as_array().into_iter().flatten();
            containers.map(|it| it["name"].to_string()).collect()
        };
        for name in names(&story.object) {
            prop_assert!(names(&object).contains(&name), "{name} has no owner");
        }
    }
}
