//! Plan: a random sequence of requests on a few names, so that requests often meet the same object.
//!
//! `<latest PATH>`, `<uid PATH>`, `<version N>`, `<continue>` and `<page N NAME>` are placeholders for values from
//! each server's own responses: the newest version and the UID of an object, the Nth newest of all versions, the last
//! continue token, and a continue token that starts after a name at the Nth newest version.
//!
//! One step opens a watch, and a later step closes it: it creates an object that the watch selects, and reads the
//! watch up to the event of that object. Both servers must have sent the same events until then.

use std::fmt;

use http::Method;
use serde_json::{Value, json};

/// Seeded random numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// One request of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) accept: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    pub(crate) watch: WatchStep,
}

/// Whether a step opens or closes a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WatchStep {
    /// Neither.
    None,
    /// Opens the watch with this number.
    Open(usize),
    /// Creates the last object of the watch with this number, and reads the watch up to it.
    Close(usize),
}

/// An open watch: the object that closes it, and when.
struct OpenWatch {
    number: usize,
    group: &'static str,
    resource: &'static str,
    namespace: String,
    label: Option<&'static str>,
    /// Steps left before it is closed.
    steps: usize,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, accept, content_type, body, watch } = self;
        write!(f, "{method} {path} {accept} {content_type} {body}")?;
        match watch {
            WatchStep::None => Ok(()),
            watch => write!(f, " {watch:?}"),
        }
    }
}

/// The resources to write: path of the group version, and name.
pub(crate) const KINDS: [(&str, &str); 6] = [
    ("/api/v1", "configmaps"),
    ("/api/v1", "secrets"),
    ("/api/v1", "pods"),
    ("/apis/coordination.k8s.io/v1", "leases"),
    ("/apis/apps/v1", "deployments"),
    ("/apis/rbac.authorization.k8s.io/v1", "roles"),
];

const JSON: &str = "application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Maximum number of steps between opening and closing a watch.
const MAX_WATCH_STEPS: usize = 20;

/// Returns the requests for a seed, in the namespaces `PREFIX-a` and `PREFIX-b`.
pub(crate) fn plan(seed: u64, prefix: &str, length: usize) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut steps = Vec::new();
    let mut open: Vec<OpenWatch> = Vec::new();
    let mut watches = 0;
    for left in (0..length).rev() {
        if random.one_in(8) {
            let (step, opened) = watch(&mut random, prefix, watches);
            watches += 1;
            steps.push(step);
            open.push(opened);
        } else {
            steps.push(step(&mut random, prefix));
        }
        open.iter_mut().for_each(|watch| watch.steps = watch.steps.saturating_sub(1));
        let is_due = |watch: &mut OpenWatch| watch.steps == 0 || left == 0;
        for watch in open.extract_if(.., is_due) {
            steps.push(watch.close(&mut random));
        }
    }
    steps
}

impl OpenWatch {
    /// Returns the step that creates the last object that the watch selects.
    fn close(&self, random: &mut Random) -> Step {
        let Self { number, group, resource, namespace, label, .. } = self;
        let mut body = body(random, resource, &format!("last-{number}"));
        if let Value::Object(metadata) = &mut body["metadata"] {
            metadata.remove("labels");
            metadata.remove("finalizers");
            if let Some(label) = label {
                metadata.insert("labels".to_owned(), json!({"app": label}));
            }
        }
        Step {
            method: Method::POST,
            path: format!("{group}/namespaces/{namespace}/{resource}"),
            accept: "",
            content_type: JSON,
            body: body.to_string(),
            watch: WatchStep::Close(*number),
        }
    }
}

fn watch(random: &mut Random, prefix: &str, number: usize) -> (Step, OpenWatch) {
    let (group, resource) = KINDS[random.below(KINDS.len())];
    let namespace = format!("{prefix}-{}", random.pick(&["a", "b"]));
    // Objects that the servers create themselves do not have this label.
    let (everywhere, selector, label) = match random.below(6) {
        0 => (true, "&labelSelector=app%3Da", Some("a")),
        1 => (false, "&labelSelector=app%3Da", Some("a")),
        2 => (false, "&labelSelector=app+in+(a,b)", Some("b")),
        3 => (false, "&labelSelector=!app", None),
        4 => (false, "&fieldSelector=metadata.name!%3Dx", Some("a")),
        _ => (false, "", Some("b")),
    };
    let from = match random.below(6) {
        0 => "resourceVersion=0".to_owned(),
        1 => String::new(),
        2 => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true".to_owned(),
        _ => format!("resourceVersion=<version {}>", random.below(10)),
    };
    let collection = match everywhere {
        true => format!("{group}/{resource}"),
        false => format!("{group}/namespaces/{namespace}/{resource}"),
    };
    let step = Step {
        method: Method::GET,
        path: format!("{collection}?watch=1&{from}{selector}"),
        accept: [JSON, JSON, TABLE, METADATA, PROTOBUF][random.below(5)],
        content_type: "",
        body: String::new(),
        watch: WatchStep::Open(number),
    };
    let steps = 1 + random.below(MAX_WATCH_STEPS);
    (step, OpenWatch { number, group, resource, namespace, label, steps })
}

fn step(random: &mut Random, prefix: &str) -> Step {
    let (group, resource) = KINDS[random.below(KINDS.len())];
    let namespace = format!("{prefix}-{}", random.pick(&["a", "b"]));
    let collection = format!("{group}/namespaces/{namespace}/{resource}");
    let name = random.pick(&["x", "y", "x.y", "z"]);
    let object = format!("{collection}/{name}");
    let dry_run = if random.one_in(8) { "dryRun=All" } else { "" };
    let (one, many) = match random.below(6) {
        0 => (TABLE, TABLE),
        1 => (METADATA, METADATA_LIST),
        2 => (PROTOBUF, PROTOBUF),
        _ => (JSON, JSON),
    };
    let get_as = |path: String, accept| Step {
        method: Method::GET,
        path,
        accept,
        content_type: "",
        body: String::new(),
        watch: WatchStep::None,
    };
    let get = |path: String| get_as(path, many);
    let write = |method, path: String, content_type, body: Value| Step {
        method,
        path: if dry_run.is_empty() { path } else { format!("{path}?{dry_run}") },
        accept: "",
        content_type,
        body: body.to_string(),
        watch: WatchStep::None,
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
                2 => {
                    options["propagationPolicy"] =
                        random.pick(&["Background", "Foreground", "Orphan"]).into();
                }
                _ => {}
            }
            write(Method::DELETE, object, JSON, options)
        }
        14 if random.one_in(3) => {
            write(Method::DELETE, format!("{collection}?labelSelector=app%3Da"), JSON, json!({}))
        }
        14 | 15 => get_as(object, one),
        16 => get(format!("{collection}?limit={}", 1 + random.below(2))),
        17 if random.one_in(2) => get(format!("{collection}?limit=2&continue=<continue>")),
        17 => {
            let (version, limit) = (random.below(8), random.pick(&["", "&limit=1", "&limit=2"]));
            get(format!("{collection}?continue=<page {version} {name}>{limit}"))
        }
        18 => {
            let selector = random.pick(&[
                "labelSelector=app%3Da",
                "labelSelector=app!%3Da",
                "labelSelector=!app",
                "fieldSelector=metadata.name%3Dx",
                "fieldSelector=metadata.name!%3Dx",
            ]);
            // Objects that the servers create themselves do not have this label.
            let all = format!("{group}/{resource}?labelSelector=app%3D{}", random.pick(&["a", "b"]));
            get(if random.one_in(2) { format!("{collection}?{selector}") } else { all })
        }
        _ => {
            let at = random.pick(&["NotOlderThan", "Exact"]);
            let version = random.below(6);
            get(format!("{collection}?resourceVersion=<version {version}>&resourceVersionMatch={at}"))
        }
    }
}

fn body(random: &mut Random, resource: &str, name: &str) -> Value {
    let value = random.pick(&["1", "2", "3"]);
    let mut body = json!({"metadata": {"name": name}});
    if !random.one_in(3) {
        body["metadata"]["labels"] = json!({"app": random.pick(&["a", "b"])});
    }
    if random.one_in(6) {
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
    let value = random.pick(&["1", "2", "3"]);
    let app = if random.one_in(3) { Value::Null } else { random.pick(&["a", "b"]).into() };
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
