//! Every method of the ClientSet reads and creates objects of its resource.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use watchkeeper_client::resource::{ListOptions, ResourceClient, WriteOptions};
use watchkeeper_kinds::Api;

use crate::access::{Access, Target, Transcript, object};
use crate::methods::every_method;

/// Samples of every kind that the embedded server stores or reviews.
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
            "spec": {
                "user": "her",
                "resourceAttributes": {"namespace": NAMESPACE, "verb": "get", "resource": "pods"},
            },
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

/// The namespace of the samples.
const NAMESPACE: &str = "default";

/// The table row of a method.
pub(crate) struct Row {
    group_version: &'static str,
    plural: &'static str,
    namespaced: bool,
    verbs: &'static str,
    pub(crate) embedded: bool,
}

impl Row {
    /// Returns whether the embedded server supports `list`.
    fn is_listed(&self) -> bool {
        self.embedded && self.has("list")
    }

    fn has(&self, verb: &str) -> bool {
        self.verbs == "all" || self.verbs.split(',').any(|it| it == verb)
    }

    /// Returns the prefix of the steps' names.
    pub(crate) fn what(&self) -> String {
        format!("{} {}: ", self.group_version, self.plural)
    }
}

macro_rules! rows {
    ($(($accessor:ident, $method:ident, $version:literal, $plural:literal, $kind:literal, $scope:ident,
        $verbs:literal, $embedded:literal),)*) => {
        &[$(Row {
            group_version: $version,
            plural: $plural,
            namespaced: matches!(stringify!($scope).as_bytes(), b"namespaced"),
            verbs: $verbs,
            embedded: $embedded,
        },)*]
    };
}

pub(crate) const ROWS: &[Row] = every_method!(rows);

/// Calls every method, and lists, gets and creates objects.
pub(crate) async fn play(access: Access, target: &Target, written: &WriteOptions) -> Transcript {
    let samples = samples();
    let mut transcript = Transcript::default();
    let mut rows = ROWS.iter();
    macro_rules! call {
        ($accessor:ident, $method:ident, namespaced) => {
            target.client.$accessor().$method(NAMESPACE)
        };
        ($accessor:ident, $method:ident, cluster) => {
            target.client.$accessor().$method()
        };
    }
    macro_rules! ask_all {
        ($(($accessor:ident, $method:ident, $version:literal, $plural:literal, $kind:literal, $scope:ident,
            $verbs:literal, $embedded:literal),)*) => {
            $({
                let row = rows.next().unwrap();
                let of_kind = samples.get(&($version.to_owned(), $kind.to_owned()));
                let of_kind = of_kind.map(Vec::as_slice).unwrap_or_default();
                let api = call!($accessor, $method, $scope);
                Box::pin(ask_in(&mut transcript, access, target, api, row, of_kind, written)).await;
            })*
        };
    }
    every_method!(ask_all);
    transcript
}

/// Runs the steps with the typed or the dynamic client.
async fn ask_in<K>(
    note: &mut Transcript,
    access: Access,
    target: &Target,
    api: Api<K>,
    row: &Row,
    samples: &[Value],
    written: &WriteOptions,
) where
    K: serde::Serialize + serde::de::DeserializeOwned,
{
    match access {
        Access::Dynamic => {
            let objects = target.client.dynamic(&row.group_version.parse().unwrap(), row.plural);
            let objects = if row.namespaced { objects.namespace(NAMESPACE) } else { objects };
            ask(note, &objects, row, samples, written).await;
        }
        _ => ask(note, &access.typed(api), row, samples, written).await,
    }
}

async fn ask<T>(
    note: &mut Transcript,
    objects: &ResourceClient<T>,
    row: &Row,
    samples: &[Value],
    written: &WriteOptions,
) where
    T: serde::Serialize + serde::de::DeserializeOwned,
{
    let resource = objects.resource();
    let version = match resource.group.as_str() {
        "" => resource.version.clone(),
        group => format!("{group}/{}", resource.version),
    };
    assert_eq!((version.as_str(), resource.resource.as_str()), (row.group_version, row.plural));
    let what = row.what();

    let listed = objects.list(&ListOptions::default()).await;
    let listed = listed.map(|list| {
        if row.embedded {
            // servers start with different objects
            json!("listed")
        } else {
            json!(list.items)
        }
    });
    note.note_outcome(&format!("{what}list"), &listed);
    let none = objects.get("no-such-object").await.err().unwrap();
    assert!(none.is_not_found(), "{what}{none}");
    note.note(&format!("{what}no object"), &none.to_string());
    assert_eq!(samples.is_empty(), !(row.embedded && row.has("create")), "{what}");
    for sample in samples {
        let made = objects.create(&object(sample.clone()), written).await;
        note.note_outcome(&format!("{what}create {sample}"), &made);
    }
    if row.is_listed() && !written.dry_run {
        let listed = objects.list(&ListOptions::default()).await.unwrap();
        assert!(listed.items.len() >= samples.len(), "{what}");
    }
}

/// Checks that the embedded server supports the resources in the tables.
pub(crate) fn check_embedded(transcript: &Transcript) {
    for row in ROWS {
        let step = format!("{}list", row.what());
        let listed = transcript.step(&step);
        assert_eq!(listed == "listed", row.is_listed(), "{step}: {listed}");
    }
    let refused: Vec<String> = transcript.refusals().filter(|it| it.contains(": create ")).collect();
    let [bound] = &refused[..] else { panic!("only binding must fail: {refused:?}") };
    assert!(bound.ends_with(r#"refused: pods "no-such-pod" not found"#), "{bound}");
}
