//! Generated pods that resemble those of a real cluster.
//!
//! A pod is 7.9 KB of compact JSON, as the API server writes it: two containers with environment variables,
//! probes, resources and mounts, three volumes, a full status, and three entries of
//! `managedFields`, which make up about half of its protobuf. Names, UIDs, addresses, digests, nodes
//! and times differ from pod to pod, so that no measured operation benefits from repetition.
//!
//! - `pods.B1`: the same seed and index give the same pod, in whatever order pods are generated.

use std::fmt::Write;

use fastrand::Rng;

/// Formats and [`put`]s.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { put($out, &format!($($text)*)) };
}

/// A generator of pods.
///
/// ```
/// use watchkeeper_bench::pods::Pods;
///
/// let pods = Pods::seeded(7);
/// assert_eq!(pods.item(3), pods.item(3));
/// assert!(pods.list(2).starts_with(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"#));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Pods {
    seed: u64,
}

impl Pods {
    /// The number of pods in the benchmarks of `docs/benchmarks.md`.
    pub const MANY: usize = 20_000;

    /// Creates a generator with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the body of a list response with the first `count` pods.
    pub fn list(self, count: usize) -> String {
        let mut body = String::with_capacity(count * 8_000 + 200);
        put!(
            &mut body,
            r#"
            {{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"4815162342"}},
            "items":["#
        );
        for index in 0..count {
            if index > 0 {
                body.push(',');
            }
            body.push('{');
            self.write(index, &mut body);
        }
        body.push_str("]}\n");
        body
    }

    /// Returns one item of a list, without `apiVersion` and `kind`, as in a list response.
    pub fn item(self, index: usize) -> String {
        let mut item = String::from("{");
        self.write(index, &mut item);
        item
    }

    /// Returns one line of a watch response: an event of type `kind` whose object has `kind` and `apiVersion`.
    pub fn event(self, kind: &str, index: usize) -> String {
        let mut line = format!(r#"{{"type":"{kind}","object":{{"kind":"Pod","apiVersion":"v1","#);
        self.write(index, &mut line);
        line.push_str("}\n");
        line
    }

    /// Appends the pod without its opening brace.
    fn write(self, index: usize, out: &mut String) {
        let mut dice = Dice::new(self.seed, index);
        let pod = Pod::random(&mut dice, index);
        pod.write_metadata(&mut dice, out);
        pod.write_spec(&mut dice, out);
        pod.write_status(&mut dice, out);
        out.push('}');
    }
}

const APPS: [&str; 16] = [
    "checkout",
    "frontend",
    "payments",
    "inventory",
    "search-api",
    "recommender",
    "mailer",
    "geo-lookup",
    "ledger",
    "pricing",
    "sessions",
    "thumbnailer",
    "catalogue",
    "auth-proxy",
    "billing-worker",
    "webhooks",
];
const TEAMS: [&str; 5] = ["storefront", "platform", "payments", "data-science", "identity"];

/// Values that occur in several parts of a pod.
struct Pod {
    app: &'static str,
    namespace: String,
    hash: String,
    name: String,
    node: String,
    token_volume: String,
    image: String,
    proxy_image: String,
    created: Time,
    pod_ip: String,
    host_ip: String,
}

impl Pod {
    fn random(dice: &mut Dice, index: usize) -> Self {
        let app = dice.pick(&APPS);
        let hash = dice.word(10);
        Self {
            app,
            // 400 pods per namespace, in the order in which an API server lists them.
            namespace: format!("team-{:03}", index / 400),
            name: format!("{app}-{hash}-{}", dice.word(5)),
            hash,
            node: format!(
                "ip-10-{}-{}-{}.eu-central-1.compute.internal",
                dice.below(256),
                dice.below(256),
                dice.below(256)
            ),
            token_volume: format!("kube-api-access-{}", dice.word(5)),
            image: format!(
                "registry.example.com/{}/{app}:v{}.{}.{}",
                dice.pick(&TEAMS),
                dice.below(4),
                dice.below(40),
                dice.below(20)
            ),
            proxy_image: format!("registry.example.com/mesh/proxy:v2.{}.{}", dice.below(20), dice.below(10)),
            created: Time::random(dice),
            pod_ip: format!("10.244.{}.{}", dice.below(256), dice.below(256)),
            host_ip: format!("10.{}.{}.{}", dice.below(256), dice.below(256), dice.below(256)),
        }
    }

    fn write_metadata(&self, dice: &mut Dice, out: &mut String) {
        let Self { app, namespace, hash, name, created, pod_ip, .. } = self;
        let (uid, owner) = (dice.uid(), dice.uid());
        let version = 4_000_000_000 + dice.below(800_000_000);
        let team = dice.pick(&TEAMS);
        let checksum = dice.hex(64);
        put!(
            out,
            r#"
            "metadata":{{"name":"{name}","generateName":"{app}-{hash}-",
            "namespace":"{namespace}","uid":"{uid}","resourceVersion":"{version}",
            "generation":1,"creationTimestamp":"{created}",
            "labels":{{"app.kubernetes.io/name":"{app}","app.kubernetes.io/part-of":"shop",
            "pod-template-hash":"{hash}","team":"{team}"}},
            "annotations":{{"checksum/config":"{checksum}","prometheus.io/scrape":"true",
            "network.example.com/status":
            "[{{\"name\":\"pods\",\"interface\":\"eth0\",\"ips\":[\"{pod_ip}\"],\"default\":true}}]"}},
            "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet",
            "name":"{app}-{hash}","uid":"{owner}","controller":true,
            "blockOwnerDeletion":true}}],"managedFields":["#
        );
        let later = created.after(2 + dice.below(40));
        put!(
            out,
            r#"
            {{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1",
            "time":"{created}","fieldsType":"FieldsV1",
            "fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:checksum/config":{{}},
            "f:prometheus.io/scrape":{{}}}},"f:generateName":{{}},"f:labels":{{".":{{}},
            "f:app.kubernetes.io/name":{{}},"f:app.kubernetes.io/part-of":{{}},
            "f:pod-template-hash":{{}},"f:team":{{}}}},"f:ownerReferences":{{".":{{}},
            "k:{{\"uid\":\"{owner}\"}}":{{}}}}}},"f:spec":{{"f:containers":{{"#
        );
        let containers = [
            (*app, &["LOG_LEVEL", "POD_IP", "REGION"][..], &["8080", "9090"][..]),
            ("proxy", &["POD_IP"][..], &["15001"][..]),
        ];
        for (container, variables, ports) in containers {
            put!(out, r#""k:{{\"name\":\"{container}\"}}":{{".":{{}},"f:env":{{".":{{}}"#);
            for variable in variables {
                put!(out, r#","k:{{\"name\":\"{variable}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}}"#);
            }
            put(out, r#"},"f:image":{},"f:imagePullPolicy":{},"#);
            if container != "proxy" {
                put(
                    out,
                    r#"
                        "f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},
                        "f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},
                        "f:successThreshold":{},"f:timeoutSeconds":{}},"#,
                );
            }
            put(out, r#""f:name":{},"f:ports":{".":{}"#);
            for port in ports {
                put!(
                    out,
                    r#"
                    ,"k:{{\"containerPort\":{port},\"protocol\":\"TCP\"}}":{{".":{{}},
                    "f:containerPort":{{}},"f:protocol":{{}}}}"#
                );
            }
            put(
                out,
                r#"
                    },"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},
                    "f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},
                    "f:terminationMessagePolicy":{}},"#,
            );
        }
        out.pop(); // the comma after the last container
        put(
            out,
            r#"
                },"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},
                "f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}},"#,
        );
        put!(
            out,
            r#"
            {{"manager":"network-agent","operation":"Update","apiVersion":"v1","time":"{later}",
            "fieldsType":"FieldsV1",
            "fieldsV1":{{"f:metadata":{{"f:annotations":{{"f:network.example.com/status":{{}}}}}}}},
            "subresource":"status"}},{{"manager":"kubelet","operation":"Update",
            "apiVersion":"v1","time":"{later}","fieldsType":"FieldsV1",
            "fieldsV1":{{"f:status":{{"f:conditions":{{"#
        );
        for condition in ["ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"] {
            put!(
                out,
                r#"
                "k:{{\"type\":\"{condition}\"}}":{{".":{{}},"f:lastProbeTime":{{}},
                "f:lastTransitionTime":{{}},"f:status":{{}},"f:type":{{}}}},"#
            );
        }
        out.pop(); // the comma after the last condition
        put!(
            out,
            r#"
            }},"f:containerStatuses":{{}},"f:hostIP":{{}},"f:hostIPs":{{}},"f:phase":{{}},
            "f:podIP":{{}},"f:podIPs":{{".":{{}},"k:{{\"ip\":\"{pod_ip}\"}}":{{".":{{}},
            "f:ip":{{}}}}}},"f:startTime":{{}}}}}},"subresource":"status"}}]}},"#
        );
    }

    fn write_spec(&self, dice: &mut Dice, out: &mut String) {
        let Self { app, node, token_volume, image, proxy_image, .. } = self;
        put!(
            out,
            r#"
            "spec":{{"volumes":[{{"name":"config","configMap":{{"name":"{app}-config",
            "defaultMode":420}}}},{{"name":"scratch","emptyDir":{{}}}},
            {{"name":"{token_volume}",
            "projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,
            "path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt",
            "items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},
            {{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1",
            "fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":["#
        );
        let (level, region) =
            (dice.pick(&["debug", "info", "warn"]), dice.pick(&["eu-central-1", "eu-west-3"]));
        let memory = 64 * (1 + dice.below(32));
        put!(
            out,
            r#"
            {{"name":"{app}","image":"{image}","ports":[{{"containerPort":8080,
            "protocol":"TCP"}},{{"containerPort":9090,"protocol":"TCP"}}],
            "env":[{{"name":"LOG_LEVEL","value":"{level}"}},{{"name":"POD_IP",
            "valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}},
            {{"name":"REGION","value":"{region}"}}],
            "resources":{{"limits":{{"memory":"{memory}Mi"}},"requests":{{"cpu":"{cpu}m",
            "memory":"{memory}Mi"}}}},"volumeMounts":[{{"name":"config","readOnly":true,
            "mountPath":"/etc/{app}"}},{{"name":"{token_volume}","readOnly":true,
            "mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],
            "livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},
            "timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},
            "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
            "imagePullPolicy":"IfNotPresent"}},"#,
            cpu = 10 * (1 + dice.below(100))
        );
        put!(
            out,
            r#"
            {{"name":"proxy","image":"{proxy_image}","ports":[{{"containerPort":15001,
            "protocol":"TCP"}}],"env":[{{"name":"POD_IP",
            "valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}}],
            "resources":{{"limits":{{"memory":"128Mi"}},"requests":{{"cpu":"50m",
            "memory":"64Mi"}}}},"volumeMounts":[{{"name":"{token_volume}","readOnly":true,
            "mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],
            "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
            "imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always",
            "terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
            "serviceAccountName":"{app}","serviceAccount":"{app}","nodeName":"{node}",
            "securityContext":{{}},"schedulerName":"default-scheduler",
            "tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists",
            "effect":"NoExecute","tolerationSeconds":300}},
            {{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute",
            "tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,
            "preemptionPolicy":"PreemptLowerPriority"}},"#
        );
    }

    fn write_status(&self, dice: &mut Dice, out: &mut String) {
        let Self { app, image, proxy_image, created, pod_ip, host_ip, .. } = self;
        put(out, r#""status":{"observedGeneration":1,"phase":"Running","conditions":["#);
        let conditions =
            ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
        for condition in conditions {
            let at = created.after(dice.below(30));
            put!(
                out,
                r#"
                {{"type":"{condition}","status":"True","lastProbeTime":null,
                "lastTransitionTime":"{at}"}},"#
            );
        }
        out.pop(); // the comma after the last condition
        put!(
            out,
            r#"
            ],"hostIP":"{host_ip}","hostIPs":[{{"ip":"{host_ip}"}}],"podIP":"{pod_ip}",
            "podIPs":[{{"ip":"{pod_ip}"}}],"startTime":"{created}","containerStatuses":["#
        );
        for (name, image) in [(*app, image), ("proxy", proxy_image)] {
            let repository = image.split_once(':').map_or(image.as_str(), |(repository, _)| repository);
            let (digest, container) = (dice.hex(64), dice.hex(64));
            let (started, restarts) = (created.after(3 + dice.below(20)), dice.below(3));
            put!(
                out,
                r#"
                {{"name":"{name}","state":{{"running":{{"startedAt":"{started}"}}}},
                "lastState":{{}},"ready":true,"restartCount":{restarts},"image":"{image}",
                "imageID":"{repository}@sha256:{digest}",
                "containerID":"containerd://{container}","started":true}},"#
            );
        }
        out.pop(); // the comma after the last container
        put(out, r#"],"qosClass":"Burstable"}"#);
    }
}

/// Appends the text without line breaks and indentation.
fn put(out: &mut String, text: &str) {
    text.lines().for_each(|line| out.push_str(line.trim_start()));
}

/// A time in November 2026.
#[derive(Clone, Copy)]
struct Time {
    second: u64,
}

impl Time {
    fn random(dice: &mut Dice) -> Self {
        Self { second: dice.below(27 * 86_400) }
    }

    fn after(self, seconds: u64) -> Self {
        Self { second: self.second + seconds }
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (day, second) = (1 + self.second / 86_400, self.second % 86_400);
        write!(f, "2026-11-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
    }
}

/// The random choices of one pod.
struct Dice(Rng);

impl Dice {
    fn new(seed: u64, index: usize) -> Self {
        Self(Rng::with_seed(Rng::with_seed(seed).u64(..) ^ index as u64)) // B1
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.usize(..from.len())]
    }

    /// Returns a name suffix from the alphabet of Kubernetes: no vowels, and no characters that look alike.
    fn word(&mut self, length: usize) -> String {
        let alphabet = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length).map(|_| char::from(self.pick(alphabet))).collect()
    }

    fn hex(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            write!(text, "{:016x}", self.0.u64(..)).expect("a string takes any text");
        }
        text.truncate(length);
        text
    }

    fn uid(&mut self) -> String {
        let hex = self.hex(32);
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_pod_is_as_long_as_documented() {
        let pods = Pods::seeded(1);
        let mean = (0..500).map(|index| pods.item(index).len()).sum::<usize>() / 500;
        assert!((7_800..8_000).contains(&mean), "{mean} bytes");
    }

    #[test]
    fn lists_and_events_are_valid_json_without_repeated_keys() {
        #[derive(serde::Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            items: Vec<&'a serde_json::value::RawValue>,
        }
        let pods = Pods::seeded(1);
        let list = pods.list(3);
        let list: Body<'_> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items.len(), 3);
        let pod: serde_json::Value = serde_json::from_str(&pods.item(0)).unwrap();
        let event: serde_json::Value = serde_json::from_str(&pods.event("ADDED", 0)).unwrap();
        assert_eq!(event["object"]["spec"], pod["spec"]);
        assert_eq!(list.items[2].get(), pods.item(2));
        // Parsing into a map drops a repeated key.
        assert_eq!(pod.to_string().len(), pods.item(0).len());
    }

    #[test]
    fn pods_differ_by_index_and_seed() {
        let pods = Pods::seeded(1);
        assert_ne!(pods.item(0), pods.item(1));
        assert_ne!(pods.item(0), Pods::seeded(2).item(0));
    }
}
