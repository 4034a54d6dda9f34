//! Ways to ask the same, and what was answered.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::{Content, RequestError};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::{Api, ClientSet};
use watchkeeper_testkit::TestCluster;

/// How it is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Protobuf,
    Json,
    Dynamic,
}

impl Way {
    /// A typed client that asks in this way.
    pub(crate) fn typed<K>(self, api: Api<K>) -> Api<K> {
        match self {
            Self::Protobuf => api.content(Content::protobuf()),
            _ => api.content(Content::json()),
        }
    }
}

/// A cluster of one's own, so that what is asked in one way does not know of the others.
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) client: ClientSet,
}

impl World {
    pub(crate) async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let config = Config::load(&sources, &Overrides::default()).unwrap();
        let client = ClientSet::new(Client::new(&config).unwrap());
        Self { cluster, client }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.cluster.namespace()
    }
}

/// What was answered, step by step.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Transcript {
    steps: Vec<(String, Value)>,
}

impl Transcript {
    pub(crate) fn note(&mut self, step: &str, answered: &impl Serialize) {
        let mut value = serde_json::to_value(answered).unwrap();
        normalize(&mut value);
        self.steps.push((step.to_owned(), value));
    }

    pub(crate) fn note_outcome<T: Serialize>(&mut self, step: &str, outcome: &Result<T, RequestError>) {
        match outcome {
            Ok(answered) => self.note(step, answered),
            Err(error) => self.note(step, &format!("refused: {error}")),
        }
    }

    pub(crate) fn step(&self, name: &str) -> &Value {
        &self.steps.iter().find(|(step, _)| step == name).unwrap_or_else(|| panic!("no step {name:?}")).1
    }

    /// The steps that were refused, and how.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|(step, answered)| {
            answered
                .as_str()
                .filter(|text| text.starts_with("refused: "))
                .map(|text| format!("{step}: {text}"))
        })
    }

    /// Says all steps in which they differ.
    pub(crate) fn assert_same(&self, other: &Self, between: &str) {
        let pairs = self.steps.iter().zip(&other.steps).filter(|(mine, theirs)| mine != theirs);
        let differing: Vec<String> = pairs
            .map(|(mine, theirs)| format!("{}\n  {}\n  {}: {}", mine.0, mine.1, theirs.0, theirs.1))
            .collect();
        assert!(differing.is_empty(), "{between}:\n{}", differing.join("\n"));
        assert_eq!(self.steps.len(), other.steps.len(), "{between}");
    }
}

/// An object of any type, from what it looks like.
pub(crate) fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Takes out what is another at every run, and every namespace of a test.
fn normalize(value: &mut Value) {
    const VARYING: &[&str] = &[
        "batch.kubernetes.io/controller-uid",
        "controller-uid",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "expirationTimestamp",
        "lastPhaseTransitionTime",
        "lastTransitionTime",
        "managedFields",
        "token",
    ];
    match value {
        Value::Object(fields) => {
            // Where the server writes null for a time or a list, a type has nothing or an empty list.
            let is_nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            fields.retain(|name, value| !is_nothing(value) && !VARYING.contains(&name.as_str()));
            fields.values_mut().for_each(normalize);
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) => {
            let words = text.split('"').map(|word| match word.starts_with("test-") {
                true => "<namespace>",
                false => word,
            });
            *text = words.collect::<Vec<_>>().join("\"");
        }
        _ => {}
    }
}
