//! Every method of the ClientSet: it is of the resource that it says, and its objects are had and made.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use watchkeeper_client::resource::{ListOptions, ResourceClient, WriteOptions};
use watchkeeper_kinds::Api;

use crate::methods::every_method;
use crate::way::{Place, Transcript, Way, object};

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

/// Where the samples belong.
const NAMESPACE: &str = "default";

/// What is said of a method in the tables.
pub(crate) struct Row {
    group_version: &'static str,
    plural: &'static str,
    namespaced: bool,
    verbs: &'static str,
    pub(crate) embedded: bool,
}

impl Row {
    /// Whether the embedded server lists such objects.
    fn is_listed(&self) -> bool {
        self.embedded && self.has("list")
    }

    fn has(&self, verb: &str) -> bool {
        self.verbs == "all" || self.verbs.split(',').any(|it| it == verb)
    }

    /// What its steps begin with.
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

/// Calls every method, and asks what it returns for its objects, for one that is not there, and for new ones.
pub(crate) async fn play(way: Way, place: &Place, written: &WriteOptions) -> Transcript {
    let samples = samples();
    let mut transcript = Transcript::default();
    let mut rows = ROWS.iter();
    macro_rules! call {
        ($accessor:ident, $method:ident, namespaced) => {
            place.client.$accessor().$method(NAMESPACE)
        };
        ($accessor:ident, $method:ident, cluster) => {
            place.client.$accessor().$method()
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
                Box::pin(ask_in(&mut transcript, way, place, api, row, of_kind, written)).await;
            })*
        };
    }
    every_method!(ask_all);
    transcript
}

/// Asks through the typed client or, for the same resource, through the dynamic one.
async fn ask_in<K>(
    note: &mut Transcript,
    way: Way,
    place: &Place,
    api: Api<K>,
    row: &Row,
    samples: &[Value],
    written: &WriteOptions,
) where
    K: serde::Serialize + serde::de::DeserializeOwned,
{
    match way {
        Way::Dynamic => {
            let objects = place.client.dynamic(&row.group_version.parse().unwrap(), row.plural);
            let objects = if row.namespaced { objects.namespace(NAMESPACE) } else { objects };
            ask(note, &objects, row, samples, written).await;
        }
        _ => ask(note, &way.typed(api), row, samples, written).await,
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
            // each server begins with objects of its own
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

/// That the embedded server has what the tables say that it has.
pub(crate) fn check_embedded(transcript: &Transcript) {
    for row in ROWS {
        let step = format!("{}list", row.what());
        let listed = transcript.step(&step);
        assert_eq!(listed == "listed", row.is_listed(), "{step}: {listed}");
    }
    let refused: Vec<String> = transcript.refusals().filter(|it| it.contains(": create ")).collect();
    let [bound] = &refused[..] else { panic!("only there is no pod to bind: {refused:?}") };
    assert!(bound.ends_with(r#"refused: pods "no-such-pod" not found"#), "{bound}");
}
