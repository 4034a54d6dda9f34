//! Decoding protobuf into types: equals what serde_json decodes from the transcoded JSON.

#![no_main]

use std::collections::BTreeMap;
use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use watchkeeper_core::Encoded;
use watchkeeper_fuzz::kind;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{Kind, decode};

/// A few fields of a pod, one for each shape of Rust type.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodView {
    api_version: String,
    kind: Text,
    metadata: Option<MetaView>,
    spec: Option<SpecView>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct MetaView {
    name: Option<Text>,
    labels: BTreeMap<String, String>,
    creation_timestamp: Option<String>,
    generation: i64,
    owner_references: Vec<BTreeMap<String, Value>>,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SpecView {
    node_name: String,
    restart_policy: Option<Restart>,
    host_network: bool,
    priority: Option<i32>,
    containers: Option<Vec<ContainerView>>,
    termination_grace_period_seconds: Option<u32>,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(default)]
struct ContainerView {
    name: String,
    ports: Vec<Value>,
    resources: Resources,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(default)]
struct Resources {
    limits: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Text(String);

#[derive(Debug, PartialEq, Deserialize)]
enum Restart {
    Always,
    Never,
    OnFailure,
}

/// The one kind with recursive messages.
#[derive(Debug, PartialEq, Deserialize)]
struct CustomView {
    spec: Option<VersionsView>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct VersionsView {
    #[serde(default)]
    versions: Option<Vec<BTreeMap<String, Any>>>,
}

/// Any JSON. Numbers are compared as floats: a float without a fraction has no decimal point in JSON, so serde_json would
/// decode it as an integer.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Any {
    Number(f64),
    Object(BTreeMap<String, Any>),
    Array(Vec<Any>),
    Other(Value),
}

fn same<T: DeserializeOwned + PartialEq + Debug>(body: &Encoded, kind: &Kind, json: &[u8]) {
    match (decode::<T>(body, kind), serde_json::from_slice::<T>(json)) {
        (Ok(ours), Ok(expected)) => assert_eq!(ours, expected),
        (Err(ours), Ok(expected)) => {
            panic!("{ours} {:?}, expected {expected:?}", std::error::Error::source(&ours))
        }
        // serde_json counts levels of JSON, we count messages and then the levels of raw JSON in them.
        (Ok(_), Err(expected)) if expected.to_string().starts_with("recursion limit") => {}
        (Ok(ours), Err(expected)) => panic!("{ours:?}, expected error {expected}"),
        (Err(_), Err(_)) => {}
    }
}

fuzz_target!(|data: &[u8]| {
    let (kind, message) = kind(data);
    let pod = Kind::new("", "v1", "Pod");
    let custom = Kind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let body = Encoded::protobuf(message);
    for kind in [kind, &pod, &custom] {
        let mut json = Vec::new();
        // Skipped fields are not validated, so a body that cannot be transcoded may still be decoded.
        let _ = decode::<IgnoredAny>(&body, kind);
        let _ = decode::<PodView>(&body, kind);
        if transcode::to_json(&body, kind, Types::Named, &mut json).is_err() {
            continue;
        }
        same::<Any>(&body, kind, &json);
        match kind.kind() {
            "Pod" => same::<PodView>(&body, kind, &json),
            "CustomResourceDefinition" => same::<CustomView>(&body, kind, &json),
            _ => {}
        }
    }
});
