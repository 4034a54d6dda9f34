//! Every method of the ClientSet: it is of the resource that it says, and its objects are had and made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use watchkeeper_client::resource::{ListOptions, ResourceClient, WriteOptions};
use watchkeeper_kinds::Api;

use crate::methods::every_method;
use crate::way::{Transcript, Way, World, object};

/// Objects of every kind that the embedded server stores, and those that are only reviewed.
fn samples() -> BTreeMap<(String, String), Vec<Value>> {
    let stored = include_str!("../../../../oracle/tests/defaults/objects.jsonl");
    let stored = stored.lines().filter(|line| line.starts_with('{')).map(|line| line.parse().unwrap());
    let reviewed = [
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}}),
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
        }),
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "default"},
        }),
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": "her", "nonResourceAttributes": {"verb": "get", "path": "/"}},
        }),
        json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "LocalSubjectAccessReview",
            "spec": {"user": "her", "resourceAttributes": {"verb": "get", "resource": "pods"}},
        }),
        json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "no-such-pod"},
            "target": {"kind": "Node", "name": "n"},
        }),
    ];
    let mut samples: BTreeMap<_, Vec<Value>> = BTreeMap::new();
    for sample in stored.chain(reviewed) {
        let text = |name: &str| sample[name].as_str().unwrap().to_owned();
        samples.entry((text("apiVersion"), text("kind"))).or_default().push(sample);
    }
    samples
}

/// Where the samples belong.
const NAMESPACE: &str = "default";

/// What is said of a method in the tables.
struct Row {
    group_version: &'static str,
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    verbs: &'static str,
    embedded: bool,
}

impl Row {
    /// Whether the embedded server has such objects. Its components have no statuses: it says 405.
    fn is_stored(&self) -> bool {
        self.embedded && self.has("list") && self.kind != "ComponentStatus"
    }

    fn has(&self, verb: &str) -> bool {
        self.verbs == "all" || self.verbs.split(',').any(|it| it == verb)
    }
}

async fn ask<T>(note: &mut Transcript, objects: &ResourceClient<T>, row: &Row, samples: &[Value])
where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let resource = objects.resource();
    let version = match resource.group.as_str() {
        "" => resource.version.clone(),
        group => format!("{group}/{}", resource.version),
    };
    assert_eq!((version.as_str(), resource.resource.as_str()), (row.group_version, row.plural));
    let what = format!("{} {}", row.group_version, row.plural);

    let listed = objects.list(&ListOptions::default()).await;
    assert_eq!(listed.is_ok(), row.is_stored(), "{what}: {:?}", listed.err());
    let none = objects.get("no-such-object").await.err().unwrap();
    assert!(none.is_not_found(), "{what}: {none}");
    note.note(&format!("{what}: no object"), &none.to_string());
    assert_eq!(samples.is_empty(), !(row.embedded && row.has("create")), "{what}");
    for sample in samples {
        let made = objects.create(&object(sample.clone()), &WriteOptions::default()).await;
        note.note_outcome(&format!("{what}: create {sample}"), &made);
    }
    if row.is_stored() {
        let listed = objects.list(&ListOptions::default()).await.unwrap();
        assert!(listed.items.len() >= samples.len(), "{what}");
    }
}

/// The `Api` that a method returns.
macro_rules! call {
    ($world:ident, $accessor:ident, $method:ident, namespaced) => {
        $world.client.$accessor().$method(NAMESPACE)
    };
    ($world:ident, $accessor:ident, $method:ident, cluster) => {
        $world.client.$accessor().$method()
    };
}

async fn walk(way: Way) -> Transcript {
    let world = World::start().await;
    let samples = samples();
    let mut transcript = Transcript::default();
    macro_rules! ask_all {
        ($(($accessor:ident, $method:ident, $version:literal, $plural:literal, $kind:literal, $scope:ident,
            $verbs:literal, $embedded:literal),)*) => {
            $({
                let row = Row {
                    group_version: $version,
                    plural: $plural,
                    kind: $kind,
                    namespaced: stringify!($scope) == "namespaced",
                    verbs: $verbs,
                    embedded: $embedded,
                };
                let of_kind = samples.get(&($version.to_owned(), $kind.to_owned()));
                let of_kind = of_kind.map(Vec::as_slice).unwrap_or_default();
                let api = call!(world, $accessor, $method, $scope);
                Box::pin(ask_in(&mut transcript, way, &world, api, &row, of_kind)).await;
            })*
        };
    }
    every_method!(ask_all);
    world.cluster.stop().await;
    transcript
}

/// Asks through the typed client or, for the same resource, through the dynamic one.
async fn ask_in<K>(note: &mut Transcript, way: Way, world: &World, api: Api<K>, row: &Row, samples: &[Value])
where
    K: serde::Serialize + serde::de::DeserializeOwned,
{
    match way {
        Way::Dynamic => {
            let objects = world.client.dynamic(&row.group_version.parse().unwrap(), row.plural);
            let objects = match row.namespaced {
                true => objects.namespace(NAMESPACE),
                false => objects,
            };
            ask(note, &objects, row, samples).await;
        }
        _ => ask(note, &way.typed(api), row, samples).await,
    }
}

#[tokio::test]
async fn every_method_answers_the_same_however_it_is_asked() {
    let protobuf = walk(Way::Protobuf).await;
    let json = walk(Way::Json).await;
    protobuf.assert_same(&json, "protobuf, JSON");
    json.assert_same(&walk(Way::Dynamic).await, "typed, dynamic");
    let refused: Vec<String> = json.refusals().filter(|refusal| refusal.contains(": create ")).collect();
    let [bound] = &refused[..] else { panic!("only there is no pod to bind: {refused:?}") };
    assert!(bound.ends_with(r#"refused: pods "no-such-pod" not found"#), "{bound}");
}
