//! Access methods and transcripts of the scenarios.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::rest::{Content, RequestError};
use watchkeeper_client::{Client, Config};
use watchkeeper_kinds::{Api, ClientSet};

/// The client that a scenario uses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    Protobuf,
    Json,
    Dynamic,
}

impl Access {
    pub(crate) const ALL: [Self; 3] = [Self::Protobuf, Self::Json, Self::Dynamic];

    /// Sets the content type of a typed client.
    pub(crate) fn typed<K>(self, api: Api<K>) -> Api<K> {
        match self {
            Self::Protobuf => api.content(Content::protobuf()),
            _ => api.content(Content::json()),
        }
    }
}

/// A server, and a namespace for the scenario alone.
pub(crate) struct Target {
    pub(crate) client: ClientSet,
    pub(crate) namespace: String,
}

impl Target {
    pub(crate) fn new(kubeconfig: &Path, namespace: &str) -> Self {
        let sources = Sources::File(kubeconfig.to_owned());
        let config = Config::load(&sources, &Overrides::default()).unwrap();
        Self { client: ClientSet::new(Client::new(&config).unwrap()), namespace: namespace.to_owned() }
    }
}

/// The responses to each step.
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

    /// Returns the failed steps.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = String> {
        self.steps.iter().filter_map(|(step, answered)| {
            answered
                .as_str()
                .filter(|text| text.starts_with("refused: "))
                .map(|text| format!("{step}: {text}"))
        })
    }

    /// Returns the steps with different responses.
    pub(crate) fn differences(&self, other: &Self) -> Vec<(String, String)> {
        let names =
            |transcript: &Self| transcript.steps.iter().map(|(step, _)| step.clone()).collect::<Vec<_>>();
        assert_eq!(names(self), names(other));
        let pairs = self.steps.iter().zip(&other.steps).filter(|(mine, theirs)| mine != theirs);
        pairs.map(|((step, mine), (_, theirs))| (step.clone(), format!("{mine}\n  {theirs}"))).collect()
    }

    /// Panics with all steps that differ.
    pub(crate) fn assert_same(&self, other: &Self, between: &str) {
        let differing =
            self.differences(other).into_iter().map(|(step, answers)| format!("{step}\n  {answers}"));
        let differing: Vec<String> = differing.collect();
        assert!(differing.is_empty(), "{between}:\n{}", differing.join("\n"));
    }
}

/// Deserializes an object.
pub(crate) fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Removes values that differ between runs, and the namespace of the test.
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
        "lastUpdateTime",
        "managedFields",
        "token",
    ];
    match value {
        Value::Object(fields) => {
            // Types omit null times, and have empty lists for null.
            let is_nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            fields.retain(|name, value| !is_nothing(value) && !VARYING.contains(&name.as_str()));
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    // Types have no types of inner objects, as protobuf.
                    ("volumeClaimTemplates", Value::Array(claims)) => {
                        for claim in claims {
                            claim
                                .as_object_mut()
                                .unwrap()
                                .retain(|name, _| name != "apiVersion" && name != "kind");
                            normalize(claim);
                        }
                    }
                    ("nodePort" | "healthCheckNodePort", Value::Number(_)) => *value = "<port>".into(),
                    // Rules are unordered.
                    ("resourceRules" | "nonResourceRules", Value::Array(rules)) => {
                        rules.sort_by_key(Value::to_string);
                    }
                    _ => normalize(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) if text.starts_with("10.0.0.") => *text = "<address>".to_owned(),
        Value::String(text) => {
            let words =
                text.split('"').map(|word| if word.starts_with("test-") { "<namespace>" } else { word });
            *text = words.collect::<Vec<_>>().join("\"");
        }
        _ => {}
    }
}
