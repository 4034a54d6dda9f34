//! Plan: a sequence of requests out of a seed, over few names so that they meet.
//!
//! `<latest PATH>`, `<uid PATH>`, `<version N>` and `<continue>` stand for what each server has said itself: the newest
//! version and the UID of an object, the Nth newest of all versions, and the last token.

use std::fmt;

use http::Method;
use serde_json::{Value, json};

/// Numbers out of a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// One request of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.method, self.path, self.content_type, self.body)
    }
}

/// What is written: path of the group, resource.
pub(crate) const KINDS: [(&str, &str); 6] = [
    ("/api/v1", "configmaps"),
    ("/api/v1", "secrets"),
    ("/api/v1", "pods"),
    ("/apis/coordination.k8s.io/v1", "leases"),
    ("/apis/apps/v1", "deployments"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles"),
];

const JSON: &str = "application/json";

/// The requests of a seed, in namespaces `PREFIX-a` and `PREFIX-b`.
pub(crate) fn plan(seed: u64, prefix: &str, length: usize) -> Vec<Step> {
    let mut random = Random::new(seed);
    (0..length).map(|_| step(&mut random, prefix)).collect()
}

fn step(random: &mut Random, prefix: &str) -> Step {
    let (group, resource) = KINDS[random.below(KINDS.len())];
    let namespace = format!("{prefix}-{}", random.of(&["a", "b"]));
    let collection = format!("{group}/namespaces/{namespace}/{resource}");
    let name = random.of(&["x", "y", "x.y", "z"]);
    let object = format!("{collection}/{name}");
    let dry = if random.once_in(8) { "dryRun=All" } else { "" };
    let get = |path: String| Step { method: Method::GET, path, content_type: "", body: String::new() };
    let write = |method, path: String, content_type, body: Value| Step {
        method,
        path: if dry.is_empty() { path } else { format!("{path}?{dry}") },
        content_type,
        body: body.to_string(),
    };
    match random.below(20) {
        0..=5 => write(Method::POST, collection, JSON, body(random, resource, name)),
        6..=8 => {
            let mut body = body(random, resource, name);
            match random.below(4) {
                0 => {}
                1 => body["metadata"]["resourceVersion"] = format!("<version {}>", random.below(4)).into(),
                2 => body["metadata"]["uid"] = format!("<uid {object}>").into(),
                _ => body["metadata"]["resourceVersion"] = format!("<latest {object}>").into(),
            }
            write(Method::PUT, object, JSON, body)
        }
        9..=11 => {
            let (content_type, patch) = patch(random, resource, &object);
            write(Method::PATCH, object, content_type, patch)
        }
        12..=13 => {
            let mut options = json!({});
            match random.below(5) {
                0 => options["preconditions"] = json!({"uid": format!("<uid {object}>")}),
                1 => {
                    options["preconditions"] =
                        json!({"resourceVersion": format!("<version {}>", random.below(3))});
                }
                2 => options["propagationPolicy"] = random.of(&["Background", "Foreground", "Orphan"]).into(),
                _ => {}
            }
            write(Method::DELETE, object, JSON, options)
        }
        14 if random.once_in(3) => {
            write(Method::DELETE, format!("{collection}?labelSelector=app%3Da"), JSON, json!({}))
        }
        14 | 15 => get(object),
        16 => get(format!("{collection}?limit={}", 1 + random.below(2))),
        17 => get(format!("{collection}?limit=2&continue=<continue>")),
        18 => {
            let selector = random.of(&[
                "labelSelector=app%3Da",
                "labelSelector=app!%3Da",
                "labelSelector=!app",
                "fieldSelector=metadata.name%3Dx",
                "fieldSelector=metadata.name!%3Dx",
            ]);
            // What the servers have made themselves has no such label.
            let all = format!("{group}/{resource}?labelSelector=app%3D{}", random.of(&["a", "b"]));
            get(if random.once_in(2) { format!("{collection}?{selector}") } else { all })
        }
        _ => {
            let at = random.of(&["NotOlderThan", "Exact"]);
            let version = random.below(6);
            get(format!("{collection}?resourceVersion=<version {version}>&resourceVersionMatch={at}"))
        }
    }
}

fn body(random: &mut Random, resource: &str, name: &str) -> Value {
    let value = random.of(&["1", "2", "3"]);
    let mut body = json!({"metadata": {"name": name}});
    if !random.once_in(3) {
        body["metadata"]["labels"] = json!({"app": random.of(&["a", "b"])});
    }
    if random.once_in(6) {
        body["metadata"]["finalizers"] = json!(["example.com/hold"]);
    }
    let template = json!({
        "metadata": {"labels": {"app": "t"}},
        "spec": {"containers": [{"name": "c", "image": format!("i:{value}")}, {"name": "d", "image": "j:1"}]},
    });
    match resource {
        "configmaps" => body["data"] = json!({"k": value}),
        "secrets" => body["stringData"] = json!({"k": value}),
        "leases" => body["spec"] = json!({"holderIdentity": value}),
        "roles" => {
            body["rules"] =
                json!([{"apiGroups": [""], "resources": [format!("r{value}")], "verbs": ["get"]}]);
        }
        "pods" => body["spec"] = template["spec"].clone(),
        _ => {
            body["spec"] = json!({
                "replicas": value.parse::<u32>().unwrap_or_default(),
                "selector": {"matchLabels": {"app": "t"}},
                "template": template,
            });
        }
    }
    body
}

fn patch(random: &mut Random, resource: &str, object: &str) -> (&'static str, Value) {
    let value = random.of(&["1", "2", "3"]);
    let app = if random.once_in(3) { Value::Null } else { random.of(&["a", "b"]).into() };
    let containers = json!({"containers": [{"name": "c", "image": format!("i:{value}")}]});
    let inside = match resource {
        "configmaps" => json!({"data": {"k": value, "l": null}}),
        "secrets" => json!({"stringData": {"k": value}}),
        "leases" => json!({"spec": {"holderIdentity": value}}),
        "pods" => json!({"spec": containers}),
        "deployments" => json!({"spec": {"template": {"spec": containers}}}),
        _ => json!({}),
    };
    match random.below(7) {
        0 => ("application/merge-patch+json", json!({"metadata": {"labels": {"app": app}}})),
        1 => ("application/merge-patch+json", json!({"metadata": {"finalizers": null}})),
        2 => {
            let version = format!("<latest {object}>");
            let patch = json!({"metadata": {"resourceVersion": version, "annotations": {"n": value}}});
            ("application/merge-patch+json", patch)
        }
        3 | 4 => ("application/strategic-merge-patch+json", inside),
        5 => {
            let patch = json!([{"op": "replace", "path": "/metadata/labels/app", "value": value}]);
            ("application/json-patch+json", patch)
        }
        _ => {
            let patch = json!([
                {"op": "add", "path": "/metadata/labels", "value": {"app": value}},
                {"op": "test", "path": "/metadata/labels/app", "value": value},
            ]);
            ("application/json-patch+json", patch)
        }
    }
}
