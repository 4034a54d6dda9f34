//! The resources that the writers write, and their objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use watchkeeper_client::Client;
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_core::Collection;
use watchkeeper_wire::Kind;

use crate::random::Random;

pub(crate) const NAMESPACES: [&str; 4] = ["east", "north", "south", "west"];
/// Names and values of the labels; objects have a random subset.
const LABELS: [(&str, &[&str]); 3] = [
    ("app", &["web", "db", "cache"]),
    ("tier", &["gold", "silver"]),
    ("shard", &["0", "1", "2", "3", "4", "5", "6", "7"]),
];
const COLORS: [&str; 3] = ["red", "green", "blue"];
const PHASES: [&str; 3] = ["Pending", "Running", "Failed"];

pub(crate) const WIDGETS: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"widgets.chaos.example.com"},"spec":{"group":"chaos.example.com","scope":"Namespaced",
"names":{"plural":"widgets","singular":"widget","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,
"selectableFields":[{"jsonPath":".spec.color"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":
{"type":"object","properties":{"color":{"type":"string"},"turn":{"type":"string"}}}}}}}]}}"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    ConfigMaps,
    /// The test disables the server's watch cache for these, so that lists and watches reach etcd.
    Secrets,
    Pods,
    Leases,
    /// A custom resource, which is always JSON.
    Widgets,
    /// Writers change only their labels.
    Namespaces,
}

impl Resource {
    /// The resources whose objects are created and deleted, with the number of initial objects: 10,000 in total.
    pub(crate) const WRITTEN: [(Self, u64); 5] = [
        (Self::ConfigMaps, 5500),
        (Self::Secrets, 1500),
        (Self::Pods, 1000),
        (Self::Leases, 1000),
        (Self::Widgets, 1000),
    ];

    /// Group, version, resource and kind.
    fn names(self) -> [&'static str; 4] {
        match self {
            Self::ConfigMaps => ["", "v1", "configmaps", "ConfigMap"],
            Self::Secrets => ["", "v1", "secrets", "Secret"],
            Self::Pods => ["", "v1", "pods", "Pod"],
            Self::Leases => ["coordination.k8s.io", "v1", "leases", "Lease"],
            Self::Widgets => ["chaos.example.com", "v1", "widgets", "Widget"],
            Self::Namespaces => ["", "v1", "namespaces", "Namespace"],
        }
    }

    pub(crate) fn kind(self) -> Kind {
        let [group, version, _, kind] = self.names();
        Kind::new(group, version, kind)
    }

    pub(crate) fn collection(self) -> Collection {
        let [group, version, resource, kind] = self.names();
        Collection::new(group, version, resource, kind)
    }

    /// Returns a client that uses protobuf, or JSON for the custom resource.
    pub(crate) fn client(self, client: &Client) -> ResourceClient<Value> {
        client.resource(self.collection().resource(), &self.kind())
    }

    /// Returns the object with this number, which determines its namespace and name; the rest is random.
    pub(crate) fn body(self, number: u64, random: &mut Random) -> Value {
        let (namespace, name) = namespace_and_name(number);
        let mut object = self.change(random);
        let kind = self.kind();
        object["apiVersion"] = kind.name().group_version().to_string().into();
        object["kind"] = kind.name().kind.clone().into();
        object["metadata"]["name"] = name.into();
        object["metadata"]["namespace"] = namespace.into();
        match self {
            Self::Secrets => object["type"] = ["Opaque", "example.com/other"][(number % 2) as usize].into(),
            Self::Pods => object["spec"]["nodeName"] = format!("n{}", number % 5).into(),
            Self::ConfigMaps if number.is_multiple_of(3) => {
                let owner = format!("owner-{}", number % 10);
                object["metadata"]["ownerReferences"] =
                    json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner}]);
            }
            _ => {}
        }
        strip_nulls(&mut object);
        object
    }

    /// Returns a random merge patch.
    pub(crate) fn change(self, random: &mut Random) -> Value {
        let mut labels = serde_json::Map::new();
        for (name, values) in LABELS {
            let value = if random.one_in(4) { Value::Null } else { (*random.pick(values)).into() };
            labels.insert(name.to_owned(), value);
        }
        let turn = random.next().to_string();
        let mut change = json!({"metadata": {"labels": labels, "annotations": {"turn": turn}}});
        match self {
            Self::ConfigMaps => change["data"] = json!({"turn": turn, "color": *random.pick(&COLORS)}),
            Self::Secrets => change["data"] = json!({"turn": STANDARD.encode(&turn)}),
            Self::Pods => {
                change["spec"] = json!({"containers": [{"name": "main", "image": format!("i:{turn}")}]});
            }
            Self::Leases => change["spec"] = json!({"holderIdentity": turn}),
            Self::Widgets => change["spec"] = json!({"turn": turn, "color": *random.pick(&COLORS)}),
            Self::Namespaces => {}
        }
        change
    }
}

/// Returns the namespace and the name of the object with this number.
pub(crate) fn namespace_and_name(number: u64) -> (&'static str, String) {
    (NAMESPACES[(number % 4) as usize], format!("it-{number:05}"))
}

pub(crate) fn random_phase(random: &mut Random) -> Value {
    json!({"status": {"phase": *random.pick(&PHASES)}})
}

/// Removes the nulls, which delete fields in a merge patch but mean nothing in an object.
fn strip_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(strip_nulls);
    }
}
