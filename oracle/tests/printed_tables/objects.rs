//! Objects of every kind, in all states that are printed differently.

#![expect(clippy::needless_pass_by_value, reason = "objects are built from temporary parts")]

use serde_json::{Value, json};
use watchkeeper_apiserver::registry::{self, Resource};
use watchkeeper_core::Timestamp;

/// The time `seconds` ago, as a `Time`.
fn ago(seconds: i64) -> String {
    Timestamp { seconds: Timestamp::now().seconds - seconds, nanos: 0 }.to_string()
}

/// The time `seconds` ago, as a `MicroTime`.
fn micro_ago(seconds: i64) -> String {
    Timestamp { seconds: Timestamp::now().seconds - seconds, nanos: 0 }.display_micro().to_string()
}

/// Returns the resource with a name such as `apps/v1/deployments`.
pub(crate) fn find(names: &str) -> &'static Resource {
    let [group, version, resource] = names.split('/').collect::<Vec<_>>()[..] else { panic!("{names}") };
    registry::builtin().get(group, version, resource).unwrap_or_else(|| panic!("resource {names} not found"))
}

/// Returns the path to create an object at, and the object with its `apiVersion` and `kind`.
pub(crate) fn creation(names: &str, mut object: Value) -> (String, Value) {
    let resource = find(names);
    let scope = if resource.is_namespaced() { "/namespaces/default" } else { "" };
    object["apiVersion"] = json!(resource.group_version().to_string());
    object["kind"] = json!(resource.kind);
    (format!("{}{scope}/{}", resource.group_version().path(), resource.name), object)
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// All objects, with the status to set.
pub(crate) fn objects() -> Vec<(&'static str, Value)> {
    let mut all = pods();
    all.extend(workloads());
    all.extend(networking());
    all.extend(cluster_resources());
    all.extend(storage());
    all.extend(events());
    all.extend(autoscalers());
    all.extend(policies());
    all.extend(quotas()); // last, because the server enforces them
    all
}

fn named(name: &str, mut object: Value) -> Value {
    let mut metadata = object["metadata"].take();
    metadata["name"] = json!(name);
    object["metadata"] = metadata;
    object
}

/// A pod with one container.
fn pod(name: &str, status: Value) -> (&'static str, Value) {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    ("/v1/pods", named(name, json!({"spec": spec, "status": status})))
}

/// A pod with an init container, a sidecar and two containers.
fn big_pod(name: &str, status: Value) -> (&'static str, Value) {
    let spec = json!({
        "initContainers": [{"name": "i", "image": "i"}, {"name": "s", "image": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}],
        "readinessGates": [{"conditionType": "example.com/one"}, {"conditionType": "example.com/two"}],
    });
    ("/v1/pods", named(name, json!({"spec": spec, "status": status})))
}

fn container(name: &str, restarts: i64, ready: bool, state: Value, last: Value) -> Value {
    json!({"name": name, "image": "i", "imageID": "i", "restartCount": restarts, "ready": ready,
           "state": state, "lastState": last})
}

fn running() -> Value {
    json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
}

fn waiting(reason: &str) -> Value {
    json!({"waiting": {"reason": reason}})
}

fn terminated(reason: &str, code: i64, seconds_ago: i64) -> Value {
    json!({"terminated": {"reason": reason, "exitCode": code, "finishedAt": ago(seconds_ago)}})
}

fn pods() -> Vec<(&'static str, Value)> {
    let one = |phase: &str, container: Value| json!({"phase": phase, "containerStatuses": [container]});
    let init = |state: Value| {
        let last = terminated("Error", 1, HOUR);
        json!({"phase": "Pending", "initContainerStatuses": [container("i", 4, false, state, last)]})
    };
    let two = |a: Value, b: Value, conditions: Value| {
        let (a, b) = (
            container("a", 1, false, a, json!({})),
            container("b", 2, true, b, terminated("Error", 1, 3 * DAY)),
        );
        let done = container("i", 0, true, terminated("Completed", 0, HOUR), json!({}));
        let mut sidecar = container("s", 3, true, running(), terminated("Error", 1, 9 * DAY));
        sidecar["started"] = json!(true);
        json!({"phase": "Running", "initContainerStatuses": [done, sidecar], "containerStatuses": [a, b],
               "conditions": conditions})
    };
    let ready = json!([{"type": "Ready", "status": "True"}, {"type": "example.com/one", "status": "True"},
                       {"type": "example.com/two", "status": "False"}]);
    let completed = || terminated("Completed", 0, MINUTE);
    let mut all = vec![
        pod("pending", json!({})),
        pod("creating", one("Pending", container("c", 0, false, waiting("ContainerCreating"), json!({})))),
        pod(
            "waiting-without-reason",
            one("Pending", container("c", 0, false, json!({"waiting": {}}), json!({}))),
        ),
        pod("running", one("Running", container("c", 0, true, running(), json!({})))),
        pod("not-ready", one("Running", container("c", 0, false, running(), json!({})))),
        pod(
            "restarted",
            one("Running", container("c", 3, true, running(), terminated("Error", 1, 5 * MINUTE))),
        ),
        pod(
            "restarted-long-ago",
            one("Running", container("c", 3, true, running(), terminated("Error", 1, 3 * YEAR))),
        ),
        pod("restarted-unknown", one("Running", container("c", 2, true, running(), json!({})))),
        pod(
            "crashing",
            one(
                "Running",
                container("c", 9, false, waiting("CrashLoopBackOff"), terminated("Error", 1, 200)),
            ),
        ),
        pod("no-image", one("Pending", container("c", 0, false, waiting("ImagePullBackOff"), json!({})))),
        pod("completed", one("Succeeded", container("c", 0, false, completed(), json!({})))),
        pod("failed", one("Failed", container("c", 0, false, terminated("Error", 1, 1), json!({})))),
        pod("exit-code", one("Failed", container("c", 0, false, terminated("", 7, 1), json!({})))),
        pod("evicted", json!({"phase": "Failed", "reason": "Evicted", "message": "out of disk"})),
        pod(
            "init-initialized",
            json!({"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}],
            "containerStatuses": [container("c", 1, true, running(), json!({}))]}),
        ),
        pod(
            "addressed",
            json!({"phase": "Running", "podIP": "10.0.0.1", "nominatedNodeName": "n1",
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}),
        ),
        big_pod("init-running", init(running())),
        big_pod("init-waiting", init(waiting("PodInitializing"))),
        big_pod("init-crashing", init(waiting("CrashLoopBackOff"))),
        big_pod("init-failed", init(terminated("Error", 1, 5))),
        big_pod("init-exit-code", init(terminated("", 3, 5))),
        big_pod("init-signal", init(json!({"terminated": {"exitCode": 137, "signal": 9}}))),
        big_pod("init-done", init(terminated("Completed", 0, 5))),
        big_pod("both-running", two(running(), running(), ready.clone())),
        big_pod("one-completed-and-ready", two(completed(), running(), ready)),
        big_pod("one-completed", two(completed(), running(), json!([]))),
        big_pod("one-killed", two(completed(), terminated("OOMKilled", 137, 5), json!([]))),
        big_pod(
            "signalled",
            two(json!({"terminated": {"exitCode": 137, "signal": 9}}), running(), json!([])),
        ),
    ];
    let gated = json!({"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "g"}]});
    all.push(("/v1/pods", named("gated", json!({"spec": gated}))));
    let deleted = |name: &str, finalizer: bool, status: Value| {
        let spec = json!({"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]});
        let finalizers = if finalizer { json!(["example.com/stay"]) } else { json!([]) };
        let metadata = json!({"annotations": {"then": "delete"}, "finalizers": finalizers});
        ("/v1/pods", named(name, json!({"metadata": metadata, "spec": spec, "status": status})))
    };
    all.push(deleted("terminating", false, json!({"phase": "Running"})));
    all.push(deleted("lost", false, json!({"phase": "Running", "reason": "NodeLost"})));
    all.push(deleted(
        "terminating-completed",
        true,
        json!({"phase": "Succeeded",
        "containerStatuses": [container("c", 0, false, completed(), json!({}))]}),
    ));
    all
}

fn template(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}, "spec": {"containers": [
        {"name": "a", "image": "registry.example.com/a:1"}, {"name": "b", "image": "b"}]}})
}

/// Generates pods with random statuses from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn choose<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.next(words.len() as u64)).expect("index fits in usize")]
    }

    fn state(&mut self) -> Value {
        match self.next(5) {
            0 => json!({}),
            1 => running(),
            2 => waiting(self.choose(&[
                "",
                "PodInitializing",
                "ContainerCreating",
                "CrashLoopBackOff",
                "ErrImagePull",
            ])),
            _ => {
                let (code, signal) = (self.next(3), self.next(3) * self.next(2));
                let finished = ago(i64::try_from(self.next(400_000)).expect("number fits"));
                let reason = self.choose(&["", "Completed", "Error", "OOMKilled"]);
                json!({"terminated": {"reason": reason, "exitCode": code, "signal": signal, "finishedAt": finished}})
            }
        }
    }

    fn statuses(&mut self, prefix: &str, count: u64) -> Value {
        let mut all = Vec::new();
        for number in 0..count {
            let (state, last) = (self.state(), self.state());
            let restarts = i64::try_from(self.next(4)).expect("number fits");
            let mut status =
                container(&format!("{prefix}{number}"), restarts, self.next(2) == 0, state, last);
            if self.next(2) == 0 {
                status["started"] = json!(self.next(2) == 0);
            }
            all.push(status);
        }
        Value::from(all)
    }

    pub(crate) fn pod(&mut self, number: usize) -> Value {
        let (inits, ordinary) = (self.next(4), 1 + self.next(3));
        let containers = |prefix: &str, count: u64| -> Vec<Value> {
            (0..count).map(|number| json!({"name": format!("{prefix}{number}"), "image": "i"})).collect()
        };
        let mut init = containers("i", inits);
        for container in &mut init {
            if self.next(2) == 0 {
                container["restartPolicy"] = json!("Always");
            }
        }
        let mut status = json!({
            "phase": self.choose(&["Pending", "Running", "Succeeded", "Failed", "Unknown"]),
            "reason": self.choose(&["", "", "Evicted", "NodeLost"]),
            "initContainerStatuses": self.statuses("i", inits),
            "containerStatuses": self.statuses("c", ordinary),
        });
        let conditions = ["Ready", "Initialized"]
            .map(|name| json!({"type": name, "status": self.choose(&["True", "False"])}));
        status["conditions"] = conditions[..usize::try_from(self.next(3)).expect("number fits")].into();
        let mut metadata = json!({});
        if self.next(5) == 0 {
            metadata = json!({"annotations": {"then": "delete"}, "finalizers": ["example.com/stay"]});
        }
        let spec = json!({"initContainers": init, "containers": containers("c", ordinary)});
        named(&format!("random-{number}"), json!({"metadata": metadata, "spec": spec, "status": status}))
    }
}

fn workloads() -> Vec<(&'static str, Value)> {
    let labels = json!({"app": "web", "tier": "front"});
    let selector = json!({"matchLabels": labels});
    let expressions = json!({"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["front", "back"]},
        {"key": "app", "operator": "NotIn", "values": ["b", "a"]},
        {"key": "app", "operator": "Exists"}, {"key": "canary", "operator": "DoesNotExist"}]});
    let workload = |selector: &Value, more: Value| {
        let mut spec = more;
        spec["selector"] = selector.clone();
        spec["template"] = template(labels.clone());
        spec
    };
    let mut all = Vec::new();
    for (name, selector) in [("plain", &selector), ("expressions", &expressions)] {
        let counts = json!({"replicas": 3, "updatedReplicas": 2, "readyReplicas": 1, "availableReplicas": 1,
                            "unavailableReplicas": 2});
        let spec = workload(selector, json!({"replicas": 3}));
        all.push(("apps/v1/deployments", named(name, json!({"spec": spec, "status": counts}))));
        let counts =
            json!({"replicas": 3, "readyReplicas": 1, "availableReplicas": 1, "fullyLabeledReplicas": 3});
        all.push(("apps/v1/replicasets", named(name, json!({"spec": spec, "status": counts}))));
        let counts = json!({"replicas": 3, "readyReplicas": 1, "availableReplicas": 1});
        let mut with_service = spec.clone();
        with_service["serviceName"] = json!("web");
        all.push(("apps/v1/statefulsets", named(name, json!({"spec": with_service, "status": counts}))));
        let counts = json!({"desiredNumberScheduled": 5, "currentNumberScheduled": 4, "numberReady": 3,
                            "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 0});
        let mut spec = workload(selector, json!({}));
        spec["template"]["spec"]["nodeSelector"] = json!({"disk": "ssd", "arch": "arm64"});
        all.push(("apps/v1/daemonsets", named(name, json!({"spec": spec, "status": counts}))));
    }
    let spec = workload(&selector, json!({}));
    all.push(("apps/v1/deployments", named("new", json!({"spec": spec}))));
    all.push(("apps/v1/daemonsets", named("new", json!({"spec": spec}))));
    let spec = workload(&selector, json!({"replicas": 0}));
    all.push(("apps/v1/replicasets", named("none", json!({"spec": spec}))));
    let spec = workload(&labels, json!({"replicas": 2}));
    let counts = json!({"replicas": 2, "readyReplicas": 1});
    all.push(("/v1/replicationcontrollers", named("rc", json!({"spec": spec, "status": counts}))));
    all.push((
        "/v1/podtemplates",
        named("labelled", json!({"template": template(json!({"b": "2", "a": "1"}))})),
    ));
    all.push(("/v1/podtemplates", named("plain", json!({"template": template(json!({}))}))));
    let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true,
                       "uid": "0b3a5bd2-3f2c-4c79-a5ce-dd0c4e1b2d9c"});
    let core = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "rc", "controller": true,
                      "uid": "0b3a5bd2-3f2c-4c79-a5ce-dd0c4e1b2d9c"});
    for (name, owners) in [("owned", json!([owner])), ("core", json!([core])), ("orphan", json!([]))] {
        let object = json!({"metadata": {"ownerReferences": owners}, "revision": 7, "data": {"a": 1}});
        all.push(("apps/v1/controllerrevisions", named(name, object)));
    }

    let job = |more: Value| {
        let mut spec = more;
        spec["template"] = template(json!({}));
        spec["template"]["spec"]["restartPolicy"] = json!("Never");
        spec
    };
    let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": ago(MINUTE)});
    let jobs = [
        ("new", json!({}), json!({})),
        ("work-queue", json!({"parallelism": 3}), json!({"startTime": ago(5 * HOUR), "active": 3})),
        (
            "five",
            json!({"completions": 5, "parallelism": 2}),
            json!({"startTime": ago(200), "active": 1, "succeeded": 2}),
        ),
        ("suspended", json!({"suspend": true}), json!({"conditions": [condition("Suspended")]})),
        ("failing", json!({}), json!({"startTime": ago(300), "conditions": [condition("FailureTarget")]})),
        (
            "succeeding",
            json!({}),
            json!({"startTime": ago(300), "conditions": [condition("SuccessCriteriaMet")]}),
        ),
        (
            "complete",
            json!({}),
            json!({"startTime": ago(DAY), "completionTime": ago(DAY - 555), "succeeded": 1,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}),
        ),
        (
            "failed",
            json!({}),
            json!({"startTime": ago(2 * DAY), "failed": 1,
            "conditions": [condition("FailureTarget"), condition("Failed")]}),
        ),
    ];
    for (name, spec, status) in jobs {
        all.push(("batch/v1/jobs", named(name, json!({"spec": job(spec), "status": status}))));
    }
    let metadata = json!({"annotations": {"then": "delete"}, "finalizers": ["example.com/stay"]});
    all.push(("batch/v1/jobs", named("terminating", json!({"metadata": metadata, "spec": job(json!({}))}))));
    let reference = json!({"kind": "Job", "namespace": "default", "name": "j", "apiVersion": "batch/v1"});
    let cronjobs = [
        ("new", json!({}), json!({})),
        ("suspended", json!({"suspend": true, "timeZone": "Europe/Berlin"}), json!({})),
        (
            "active",
            json!({"suspend": false}),
            json!({"active": [reference], "lastScheduleTime": ago(26 * HOUR)}),
        ),
    ];
    for (name, more, status) in cronjobs {
        let mut spec = more;
        spec["schedule"] = json!("*/5 * * * *");
        spec["jobTemplate"] = json!({"spec": job(json!({}))});
        all.push(("batch/v1/cronjobs", named(name, json!({"spec": spec, "status": status}))));
    }
    all
}

fn networking() -> Vec<(&'static str, Value)> {
    let port = json!({"port": 80, "name": "http"});
    let ports = json!([port, {"port": 53, "protocol": "UDP", "name": "dns"}]);
    let balancer = |ingress: Value| json!({"loadBalancer": {"ingress": ingress}});
    let services = [
        ("clusterip", json!({"ports": ports, "selector": {"b": "2", "a": "1"}}), json!({})),
        ("external-ips", json!({"ports": [port], "externalIPs": ["192.0.2.1", "192.0.2.2"]}), json!({})),
        ("headless", json!({"clusterIP": "None", "ports": [port]}), json!({})),
        ("headless-without-ports", json!({"clusterIP": "None"}), json!({})),
        ("nodeport", json!({"type": "NodePort", "ports": ports}), json!({})),
        ("pending", json!({"type": "LoadBalancer", "ports": [port]}), json!({})),
        (
            "balanced",
            json!({"type": "LoadBalancer", "ports": [port]}),
            balancer(json!([{"ip": "198.51.100.7"}])),
        ),
        (
            "balanced-by-name",
            json!({"type": "LoadBalancer", "ports": [port], "externalIPs": ["192.0.2.1"]}),
            balancer(json!([{"hostname": "a-very-long-name.elb.example.com"}, {"ip": "198.51.100.7"}])),
        ),
        (
            "external-but-pending",
            json!({"type": "LoadBalancer", "ports": [port], "externalIPs": ["192.0.2.1"]}),
            json!({}),
        ),
        ("elsewhere", json!({"type": "ExternalName", "externalName": "db.example.com"}), json!({})),
    ];
    let mut all: Vec<(&'static str, Value)> = Vec::new();
    for (name, spec, status) in services {
        all.push(("/v1/services", named(name, json!({"spec": spec, "status": status}))));
    }
    let addresses = |ips: &[&str]| Value::from(ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>());
    let port = |number: i64| json!({"port": number, "name": format!("p{number}")});
    let endpoints = [
        ("none", json!([])),
        ("one", json!([{"addresses": addresses(&["10.0.0.1"]), "ports": [{"port": 80}]}])),
        ("without-ports", json!([{"addresses": addresses(&["10.0.0.1", "10.0.0.2"])}])),
        ("not-ready", json!([{"notReadyAddresses": addresses(&["10.0.0.1"]), "ports": [{"port": 80}]}])),
        (
            "many",
            json!([
            {"addresses": addresses(&["10.0.0.1", "10.0.0.2"]), "ports": [port(80), port(81)]},
            {"addresses": addresses(&["10.0.0.5", "fd00::5"]), "ports": [port(90)]}]),
        ),
        (
            "exactly-three",
            json!([{"addresses": addresses(&["10.0.0.1", "10.0.0.2", "fd00::5"]), "ports": [port(80)]}]),
        ),
    ];
    for (name, subsets) in endpoints {
        all.push(("/v1/endpoints", named(name, json!({"subsets": subsets}))));
    }
    let slices = [
        ("empty", json!({"addressType": "IPv4", "endpoints": []})),
        (
            "one",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80, "name": "http"}]}),
        ),
        (
            "many",
            json!({"addressType": "IPv6",
            "endpoints": [{"addresses": ["fd00::1"]}, {"addresses": ["fd00::2"]}, {"addresses": ["fd00::3"]}, {"addresses": ["fd00::4"]}],
            "ports": [port(1), port(2), port(3), port(4), port(5)]}),
        ),
        (
            "without-number",
            json!({"addressType": "FQDN", "endpoints": [{"addresses": ["a.example.com"]}], "ports": [{"name": "http"}]}),
        ),
        ("without-anything", json!({"addressType": "IPv4", "endpoints": [], "ports": [{}]})),
    ];
    for (name, slice) in slices {
        all.push(("discovery.k8s.io/v1/endpointslices", named(name, slice)));
    }
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths = json!({"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]});
    let rules = |hosts: &[&str]| {
        Value::from(hosts.iter().map(|host| json!({"host": host, "http": paths})).collect::<Vec<_>>())
    };
    let ingresses = [
        ("backend", json!({"defaultBackend": backend}), json!({})),
        (
            "one",
            json!({"rules": rules(&["a.example.com"]), "ingressClassName": "nginx"}),
            balancer(json!([{"ip": "198.51.100.7"}])),
        ),
        ("three", json!({"rules": rules(&["a.example.com", "b.example.com", "c.example.com"])}), json!({})),
        (
            "four",
            json!({"rules": rules(&["a.example.com", "b.example.com", "c.example.com", "d.example.com"]),
            "tls": [{"hosts": ["a.example.com"], "secretName": "tls"}]}),
            balancer(
                json!([{"hostname": "b.example.com"}, {"ip": "198.51.100.7"}, {"hostname": "a.elb.example.com"}]),
            ),
        ),
        (
            "with-any",
            json!({"rules": rules(&["", "b.example.com", "c.example.com", "d.example.com", ""])}),
            json!({}),
        ),
        ("any", json!({"rules": rules(&[""])}), json!({})),
    ];
    for (name, spec, status) in ingresses {
        all.push(("networking.k8s.io/v1/ingresses", named(name, json!({"spec": spec, "status": status}))));
    }
    let default = json!({"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}});
    let classes = [
        ("plain", json!({}), json!({"controller": "example.com/c"})),
        (
            "default",
            default,
            json!({"controller": "example.com/c", "parameters": {"kind": "Parameters", "name": "p"}}),
        ),
        (
            "grouped",
            json!({}),
            json!({"controller": "example.com/c",
            "parameters": {"apiGroup": "example.com", "kind": "Parameters", "name": "p"}}),
        ),
    ];
    for (name, metadata, spec) in classes {
        all.push((
            "networking.k8s.io/v1/ingressclasses",
            named(name, json!({"metadata": metadata, "spec": spec})),
        ));
    }
    for (name, selector) in [("all", json!({})), ("some", json!({"matchLabels": {"b": "2", "a": "1"}}))] {
        all.push((
            "networking.k8s.io/v1/networkpolicies",
            named(name, json!({"spec": {"podSelector": selector}})),
        ));
    }
    let cidr = json!({"spec": {"cidrs": ["10.99.0.0/24"]}});
    all.push(("networking.k8s.io/v1/servicecidrs", named("more", cidr)));
    let labels =
        json!({"ipaddress.kubernetes.io/managed-by": "test", "ipaddress.kubernetes.io/ip-family": "IPv4"});
    for (name, parent) in [
        ("192.0.2.77", json!({"resource": "services", "namespace": "default", "name": "a"})),
        ("192.0.2.78", json!({"resource": "widgets", "group": "example.com", "name": "a"})),
    ] {
        let object = json!({"metadata": {"labels": labels}, "spec": {"parentRef": parent}});
        all.push(("networking.k8s.io/v1/ipaddresses", named(name, object)));
    }
    all
}

fn cluster_resources() -> Vec<(&'static str, Value)> {
    let ready = |status: &str| json!([{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": status}]);
    let info = json!({"kubeletVersion": "v1.37.1", "osImage": "Debian GNU/Linux 13", "kernelVersion": "6.12",
        "containerRuntimeVersion": "containerd://2.1", "architecture": "arm64", "machineID": "m", "systemUUID": "s",
        "bootID": "b", "operatingSystem": "linux", "kubeProxyVersion": ""});
    let addresses = json!([{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.1.0.1"},
                           {"type": "InternalIP", "address": "fd00::1"}, {"type": "ExternalIP", "address": "198.51.100.1"}]);
    let nodes = [
        (
            "n1",
            json!({}),
            json!({}),
            json!({"conditions": ready("True"), "nodeInfo": info, "addresses": addresses}),
        ),
        ("not-ready", json!({}), json!({}), json!({"conditions": ready("False")})),
        ("lost", json!({}), json!({}), json!({"conditions": ready("Unknown")})),
        ("new", json!({}), json!({}), json!({})),
        ("cordoned", json!({}), json!({"unschedulable": true}), json!({"conditions": ready("True")})),
        (
            "roles",
            json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "",
            "kubernetes.io/role": "gpu", "node-role.kubernetes.io/": "x"}),
            json!({"unschedulable": true}),
            json!({}),
        ),
    ];
    let mut all = Vec::new();
    for (name, labels, spec, status) in nodes {
        let labels: Value = labels
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "node-role.kubernetes.io/")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let object = json!({"metadata": {"labels": labels}, "spec": spec, "status": status});
        all.push(("/v1/nodes", named(name, object)));
    }
    all.push(("/v1/namespaces", named("active", json!({}))));
    all.push((
        "/v1/namespaces",
        named("terminating", json!({"metadata": {"annotations": {"then": "delete"}}})),
    ));
    all.push(("/v1/configmaps", named("none", json!({}))));
    all.push((
        "/v1/configmaps",
        named("three", json!({"data": {"a": "b", "c": "d"}, "binaryData": {"e": "AAEC"}})),
    ));
    all.push(("/v1/secrets", named("opaque", json!({"data": {"a": "AAEC"}}))));
    all.push((
        "/v1/secrets",
        named(
            "login",
            json!({"type": "kubernetes.io/basic-auth", "stringData": {"username": "a", "password": "b"}}),
        ),
    ));
    all.push(("/v1/serviceaccounts", named("sa", json!({}))));
    all.push((
        "/v1/limitranges",
        named("limits", json!({"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"}}]}})),
    ));
    all.push(("coordination.k8s.io/v1/leases", named("held", json!({"spec": {"holderIdentity": "me"}}))));
    all.push(("coordination.k8s.io/v1/leases", named("free", json!({}))));
    all.push((
        "scheduling.k8s.io/v1/priorityclasses",
        named("high", json!({"value": 1000, "preemptionPolicy": "Never"})),
    ));
    all.push((
        "scheduling.k8s.io/v1/priorityclasses",
        named("low", json!({"value": -5, "globalDefault": true})),
    ));
    let role = json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    all.push(("rbac.authorization.k8s.io/v1/roles", named("reader", role.clone())));
    all.push(("rbac.authorization.k8s.io/v1/clusterroles", named("reader", role)));
    let group = "rbac.authorization.k8s.io";
    let subjects = json!([{"kind": "User", "name": "ann", "apiGroup": group}, {"kind": "User", "name": "ben", "apiGroup": group},
        {"kind": "Group", "name": "staff", "apiGroup": group}, {"kind": "ServiceAccount", "name": "sa", "namespace": "default"},
        {"kind": "ServiceAccount", "name": "sb", "namespace": "other"}]);
    for (name, kind, subjects) in [
        ("some", "Role", subjects.clone()),
        ("cluster", "ClusterRole", subjects.clone()),
        ("none", "Role", json!([])),
    ] {
        let object =
            json!({"roleRef": {"apiGroup": group, "kind": kind, "name": "reader"}, "subjects": subjects});
        all.push(("rbac.authorization.k8s.io/v1/rolebindings", named(name, object)));
    }
    let object = json!({"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "reader"}, "subjects": subjects});
    all.push(("rbac.authorization.k8s.io/v1/clusterrolebindings", named("some", object)));
    let service = json!({"namespace": "default", "name": "metrics"});
    let spec = json!({"group": "metrics.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                      "service": service, "insecureSkipTLSVerify": true});
    all.push((
        "apiregistration.k8s.io/v1/apiservices",
        named("v1.metrics.example.com", json!({"spec": spec})),
    ));
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let spec = json!({"group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
                      "versions": [version]});
    all.push((
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        named("things.example.com", json!({"spec": spec})),
    ));
    all
}

fn storage() -> Vec<(&'static str, Value)> {
    let path = json!({"path": "/data"});
    let deleted = json!({"annotations": {"then": "delete"}, "finalizers": ["example.com/stay"]});
    let old = json!({"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}});
    let claim =
        json!({"namespace": "default", "name": "bound", "kind": "PersistentVolumeClaim", "apiVersion": "v1"});
    let volumes = [
        (
            "available",
            json!({}),
            json!({"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"]}),
            json!({"phase": "Available"}),
        ),
        (
            "bound",
            json!({}),
            json!({"capacity": {"storage": "1500M"}, "accessModes": ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"],
            "claimRef": claim, "storageClassName": "fast", "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Block"}),
            json!({"phase": "Bound"}),
        ),
        (
            "failed",
            old.clone(),
            json!({"capacity": {"storage": "0.5Gi"}, "accessModes": ["ReadWriteOncePod"]}),
            json!({"phase": "Failed", "reason": "Broken", "message": "m"}),
        ),
        (
            "terminating",
            deleted.clone(),
            json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}),
            json!({"phase": "Released"}),
        ),
    ];
    let mut all = Vec::new();
    for (name, metadata, mut spec, status) in volumes {
        spec["hostPath"] = path.clone();
        all.push((
            "/v1/persistentvolumes",
            named(name, json!({"metadata": metadata, "spec": spec, "status": status})),
        ));
    }
    let wants = json!({"requests": {"storage": "1Gi"}});
    let has = json!({"phase": "Bound", "capacity": {"storage": "2048Mi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"]});
    let claims = [
        ("pending", json!({}), json!({}), json!({})),
        (
            "bound",
            json!({}),
            json!({"volumeName": "bound", "storageClassName": "fast", "volumeMode": "Block"}),
            has.clone(),
        ),
        ("lost", old, json!({"volumeName": "gone"}), json!({"phase": "Lost"})),
        (
            "attributes",
            json!({}),
            json!({"volumeAttributesClassName": "gold", "storageClassName": ""}),
            json!({}),
        ),
        ("terminating", deleted, json!({"volumeName": "bound"}), has),
    ];
    for (name, metadata, mut spec, status) in claims {
        spec["accessModes"] = json!(["ReadWriteOnce"]);
        spec["resources"] = wants.clone();
        all.push((
            "/v1/persistentvolumeclaims",
            named(name, json!({"metadata": metadata, "spec": spec, "status": status})),
        ));
    }
    let default = json!({"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}});
    let beta = json!({"annotations": {"storageclass.beta.kubernetes.io/is-default-class": "true"}});
    let classes = [
        ("plain", json!({}), json!({})),
        (
            "b-default",
            default.clone(),
            json!({"reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer"}),
        ),
        ("a-default", beta, json!({"allowVolumeExpansion": true})),
        ("c-default", default, json!({"allowVolumeExpansion": false})),
    ];
    for (name, metadata, mut class) in classes {
        class["metadata"] = metadata;
        class["provisioner"] = json!("example.com/p");
        all.push(("storage.k8s.io/v1/storageclasses", named(name, class)));
    }
    all.push(("storage.k8s.io/v1/csidrivers", named("plain.example.com", json!({"spec": {}}))));
    let spec = json!({"attachRequired": false, "podInfoOnMount": true, "storageCapacity": true, "requiresRepublish": true,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}], "volumeLifecycleModes": ["Persistent", "Ephemeral"]});
    all.push(("storage.k8s.io/v1/csidrivers", named("all.example.com", json!({"spec": spec}))));
    let drivers =
        json!([{"name": "a.example.com", "nodeID": "n1"}, {"name": "b.example.com", "nodeID": "n1"}]);
    all.push(("storage.k8s.io/v1/csinodes", named("n1", json!({"spec": {"drivers": drivers}}))));
    all.push(("storage.k8s.io/v1/csinodes", named("n2", json!({"spec": {"drivers": []}}))));
    let spec = |source: Value| json!({"attacher": "example.com", "nodeName": "n1", "source": source});
    all.push((
        "storage.k8s.io/v1/volumeattachments",
        named(
            "attached",
            json!({"spec": spec(json!({"persistentVolumeName": "bound"})), "status": {"attached": true}}),
        ),
    ));
    all.push((
        "storage.k8s.io/v1/volumeattachments",
        named("not-attached", json!({"spec": spec(json!({"persistentVolumeName": "available"}))})),
    ));
    all.push((
        "storage.k8s.io/v1/csistoragecapacities",
        named("capacity", json!({"storageClassName": "fast", "capacity": "1Gi"})),
    ));
    all.push((
        "storage.k8s.io/v1/volumeattributesclasses",
        named("gold", json!({"driverName": "example.com", "parameters": {"iops": "1"}})),
    ));
    all
}

fn events() -> Vec<(&'static str, Value)> {
    let about = json!({"kind": "Pod", "namespace": "default", "name": "pending", "apiVersion": "v1",
                       "fieldPath": "spec.containers{c}"});
    let unnamed = json!({"kind": "Node", "namespace": "default"});
    let mut all = Vec::new();
    // One age for each format of ages; only events can have an arbitrary age.
    let ages = [
        -5,
        0,
        59,
        119,
        2 * MINUTE,
        10 * MINUTE - 30,
        10 * MINUTE,
        3 * HOUR - 30,
        3 * HOUR,
        3 * HOUR + 90,
        8 * HOUR,
        47 * HOUR,
        2 * DAY,
        2 * DAY + HOUR,
        8 * DAY,
        700 * DAY,
        2 * YEAR,
        2 * YEAR + DAY,
        8 * YEAR - HOUR,
        8 * YEAR,
        50 * YEAR,
    ];
    for (position, seconds) in ages.into_iter().enumerate() {
        let event = json!({"involvedObject": about, "reason": "R", "message": " m ", "type": "Normal", "count": 3,
            "firstTimestamp": ago(seconds.max(0) * 2), "lastTimestamp": ago(seconds), "source": {"component": "kubelet", "host": "n1"}});
        all.push(("/v1/events", named(&format!("age-{position}"), event)));
    }
    let core = [
        ("bare", json!({"involvedObject": unnamed})),
        (
            "first-only",
            json!({"involvedObject": about, "firstTimestamp": ago(HOUR), "source": {"component": "c"}, "type": "Warning"}),
        ),
        (
            "last-only",
            json!({"involvedObject": about, "lastTimestamp": ago(HOUR), "message": "two\nlines\n"}),
        ),
        (
            "new-style",
            json!({"involvedObject": about, "eventTime": micro_ago(HOUR), "reportingComponent": "example.com/c",
            "reportingInstance": "i-1", "action": "Do", "reason": "R", "type": "Normal", "message": "m"}),
        ),
        (
            "series",
            json!({"involvedObject": about, "eventTime": micro_ago(DAY), "reportingComponent": "example.com/c",
            "reportingInstance": "i-1", "action": "Do", "reason": "R", "type": "Normal", "message": "m",
            "series": {"count": 17, "lastObservedTime": micro_ago(5 * MINUTE)}}),
        ),
    ];
    for (name, event) in core {
        all.push(("/v1/events", named(name, event)));
    }
    let new = [
        (
            "noted",
            json!({"regarding": about, "eventTime": micro_ago(HOUR), "reportingController": "example.com/c",
            "reportingInstance": "i-1", "action": "Do", "reason": "R", "type": "Normal", "note": " n "}),
        ),
        (
            "noted-series",
            json!({"regarding": unnamed, "eventTime": micro_ago(DAY), "reportingController": "example.com/c",
            "reportingInstance": "i-1", "action": "Do", "reason": "R", "type": "Warning", "note": "n",
            "series": {"count": 3, "lastObservedTime": micro_ago(5 * MINUTE)}}),
        ),
    ];
    for (name, event) in new {
        all.push(("events.k8s.io/v1/events", named(name, event)));
    }
    all
}

fn autoscalers() -> Vec<(&'static str, Value)> {
    let target = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"});
    let resource =
        |name: &str, target: Value| json!({"type": "Resource", "resource": {"name": name, "target": target}});
    let of_resource = |name: &str, current: Value| json!({"type": "Resource", "resource": {"name": name, "current": current}});
    let percent = |percent: i64| json!({"type": "Utilization", "averageUtilization": percent});
    let average = |amount: &str| json!({"type": "AverageValue", "averageValue": amount});
    let value = |amount: &str| json!({"type": "Value", "value": amount});
    let container = |target: Value| {
        json!({"type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "target": target}})
    };
    let of_container = |current: Value| {
        json!({"type": "ContainerResource",
        "containerResource": {"name": "cpu", "container": "c", "current": current}})
    };
    let metric = json!({"name": "hits"});
    let pods = json!({"type": "Pods", "pods": {"metric": metric, "target": average("1k")}});
    let of_pods = json!({"type": "Pods", "pods": {"metric": metric, "current": {"averageValue": "1500m"}}});
    let about = json!({"kind": "Ingress", "name": "web", "apiVersion": "networking.k8s.io/v1"});
    let object = |target: Value| json!({"type": "Object", "object": {"metric": metric, "describedObject": about, "target": target}});
    let of_object = |current: Value| json!({"type": "Object", "object": {"metric": metric, "describedObject": about, "current": current}});
    let external =
        |target: Value| json!({"type": "External", "external": {"metric": metric, "target": target}});
    let of_external =
        |current: Value| json!({"type": "External", "external": {"metric": metric, "current": current}});
    let cases = [
        ("default", json!([]), json!([])),
        (
            "cpu",
            json!([resource("cpu", percent(80))]),
            json!([of_resource("cpu", json!({"averageUtilization": 12, "averageValue": "120m"}))]),
        ),
        ("cpu-unmeasured", json!([resource("cpu", percent(80))]), json!([])),
        (
            "memory",
            json!([resource("memory", average("1024Mi"))]),
            json!([of_resource("memory", json!({"averageValue": "512Mi"}))]),
        ),
        ("memory-unmeasured", json!([resource("memory", average("1Gi"))]), json!([])),
        (
            "container",
            json!([container(percent(50)), container(average("100m"))]),
            json!([
                of_container(json!({"averageUtilization": 7, "averageValue": "7m"})),
                of_container(json!({"averageValue": "9m"}))
            ]),
        ),
        ("container-unmeasured", json!([container(percent(50)), container(average("100m"))]), json!([])),
        ("pods", json!([pods]), json!([of_pods])),
        ("pods-unmeasured", json!([pods]), json!([])),
        (
            "object",
            json!([object(value("10")), object(average("5"))]),
            json!([of_object(json!({"value": "3"})), of_object(json!({"value": "3", "averageValue": "1"}))]),
        ),
        ("object-unmeasured", json!([object(value("10")), object(average("5"))]), json!([])),
        (
            "external",
            json!([external(value("10")), external(average("5"))]),
            json!([
                of_external(json!({"value": "3"})),
                of_external(json!({"value": "3", "averageValue": "1"}))
            ]),
        ),
        ("external-unmeasured", json!([external(value("10")), external(average("5"))]), json!([])),
        ("many", json!([resource("cpu", percent(80)), resource("memory", percent(60)), pods]), json!([])),
    ];
    let mut all = Vec::new();
    for (name, metrics, current) in cases {
        let spec = json!({"scaleTargetRef": target, "maxReplicas": 9, "minReplicas": 2, "metrics": metrics});
        let status = json!({"currentReplicas": 3, "desiredReplicas": 4, "currentMetrics": current});
        let object = json!({"spec": spec, "status": status});
        all.push(("autoscaling/v2/horizontalpodautoscalers", named(&format!("v2-{name}"), object)));
    }
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 9, "targetCPUUtilizationPercentage": 70});
    let status = json!({"currentReplicas": 3, "desiredReplicas": 4, "currentCPUUtilizationPercentage": 33});
    all.push((
        "autoscaling/v1/horizontalpodautoscalers",
        named("v1-cpu", json!({"spec": spec, "status": status})),
    ));
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 9});
    all.push(("autoscaling/v1/horizontalpodautoscalers", named("v1-default", json!({"spec": spec}))));
    all
}

fn policies() -> Vec<(&'static str, Value)> {
    let selector = json!({"matchLabels": {"a": "b"}});
    let budgets = [
        ("least", json!({"minAvailable": 2}), json!({"disruptionsAllowed": 1})),
        ("percent", json!({"maxUnavailable": "30%"}), json!({})),
        ("neither", json!({}), json!({})),
    ];
    let mut all = Vec::new();
    for (name, mut spec, mut status) in budgets {
        spec["selector"] = selector.clone();
        for count in ["currentHealthy", "desiredHealthy", "expectedPods"] {
            status[count] = json!(1);
        }
        if status["disruptionsAllowed"].is_null() {
            status["disruptionsAllowed"] = json!(0);
        }
        all.push(("policy/v1/poddisruptionbudgets", named(name, json!({"spec": spec, "status": status}))));
    }
    let webhook = |name: &str| {
        json!({"name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://example.com/"}, "rules": []})
    };
    for kind in [
        "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ] {
        all.push((
            kind,
            named("two", json!({"webhooks": [webhook("a.example.com"), webhook("b.example.com")]})),
        ));
        all.push((kind, named("none", json!({}))));
    }
    let kind = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let rules = json!({"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}]});
    let validations = json!([{"expression": "true"}, {"expression": "true"}]);
    let policies = "admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    all.push((
        policies,
        named("plain", json!({"spec": {"validations": validations, "matchConstraints": rules}})),
    ));
    all.push((
        policies,
        named(
            "with-parameters",
            json!({"spec": {"validations": validations, "matchConstraints": rules, "paramKind": kind}}),
        ),
    ));
    let mutation =
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}});
    let spec = json!({"mutations": [mutation], "matchConstraints": rules, "reinvocationPolicy": "Never", "failurePolicy": "Ignore"});
    all.push((
        "admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        named("plain", json!({"spec": spec})),
    ));
    let bindings = [
        ("plain", Value::Null),
        ("by-name", json!({"name": "p", "parameterNotFoundAction": "Deny"})),
        ("by-namespace", json!({"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"})),
        (
            "by-selector",
            json!({"parameterNotFoundAction": "Deny", "selector": {"matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}, {"key": "l", "operator": "Exists"}]}}),
        ),
        ("by-labels", json!({"parameterNotFoundAction": "Deny", "selector": {"matchLabels": {"a": "1"}}})),
    ];
    for (name, parameters) in bindings {
        let spec = json!({"policyName": "plain", "validationActions": ["Deny"], "paramRef": parameters});
        all.push((
            "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            named(name, json!({"spec": spec})),
        ));
    }
    let spec = json!({"policyName": "plain"});
    all.push((
        "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
        named("plain", json!({"spec": spec})),
    ));
    all
}

fn quotas() -> Vec<(&'static str, Value)> {
    let quota = json!({"hard": {"limits.cpu": "10", "limits.memory": "4Gi", "pods": "10", "requests.cpu": "1", "cpu": "2500m",
                                "requests.storage": "1Ti", "count/widgets.example.com": "3"},
                       "used": {"limits.cpu": "250m", "pods": "3", "requests.cpu": "0", "cpu": "0.5"}});
    let hard = json!({"hard": quota["hard"]});
    vec![
        ("/v1/resourcequotas", named("used", json!({"spec": hard, "status": quota}))),
        ("/v1/resourcequotas", named("new", json!({"spec": hard}))),
    ]
}
