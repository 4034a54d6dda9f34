//! Every subresource, with typed and dynamic clients.

use serde_json::{Value, json};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_client::resource::{ResourceClient, WriteOptions};
use watchkeeper_client::rest::PatchKind;
use watchkeeper_core::Status;
use watchkeeper_kinds::api::authentication::v1::TokenRequest;
use watchkeeper_kinds::api::core::v1::Binding;
use watchkeeper_kinds::api::policy::v1::Eviction;
use watchkeeper_kinds::{Api, Scaled};

use crate::access::{Access, Target, Transcript, object};

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}],
        },
    })
}

fn workload(api_version: &str, kind: &str) -> Value {
    let selector = match kind {
        "ReplicationController" => json!({"app": "a"}),
        _ => json!({"matchLabels": {"app": "a"}}),
    };
    json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 1,
            "selector": selector,
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            },
        },
    })
}

fn ephemeral(name: &str) -> Value {
    json!({"spec": {"ephemeralContainers": [{"name": name, "image": "busybox"}]}})
}

fn larger(cpu: &str) -> Value {
    json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn binding() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "node-1"},
    })
}

fn eviction() -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}})
}

fn token_request() -> Value {
    json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["shop"], "expirationSeconds": 600},
    })
}

fn write() -> WriteOptions {
    WriteOptions::default()
}

const STRATEGIC: PatchKind = PatchKind::Strategic;
const MERGE: PatchKind = PatchKind::Merge;

/// Runs all steps.
pub(crate) async fn play(access: Access, target: &Target) -> Transcript {
    match access {
        Access::Dynamic => Box::pin(dynamic(target)).await,
        _ => Box::pin(typed(access, target)).await,
    }
}

async fn typed(access: Access, target: &Target) -> Transcript {
    let mut transcript = Transcript::default();
    let note = &mut transcript;
    let (core, apps, namespace) = (target.client.core_v1(), target.client.apps_v1(), &target.namespace);

    let pods = access.typed(core.pods(namespace));
    for name in ["a", "b"] {
        pods.create(&object(pod(name)), &write()).await.unwrap();
    }
    let mut changed = pods.get_ephemeral_containers("a").await.unwrap();
    note.note("get ephemeral", &changed);
    let container = &ephemeral("d1")["spec"]["ephemeralContainers"];
    changed.spec.ephemeral_containers = object(container.clone());
    note.note_outcome("update ephemeral", &pods.update_ephemeral_containers(&changed, &write()).await);
    let patched = pods.patch_ephemeral_containers("a", STRATEGIC, &ephemeral("d2"), &write()).await;
    note.note_outcome("patch ephemeral", &patched);

    let mut changed = pods.get_resize("a").await.unwrap();
    note.note("get resize", &changed);
    changed.spec.containers[0].resources.requests = object(json!({"cpu": "200m"}));
    note.note_outcome("update resize", &pods.update_resize(&changed, &write()).await);
    note.note_outcome("patch resize", &pods.patch_resize("a", STRATEGIC, &larger("300m"), &write()).await);

    let mut bound: Binding = object(binding());
    bound.metadata.name.clear(); // defaults to the pod's
    note.note_outcome("bind", &pods.bind("a", &bound, &write()).await);
    note.note_outcome("bind again", &pods.bind("a", &bound, &write()).await);
    note.note("bound", &pods.get("a").await.unwrap());
    note.note_outcome("evict", &pods.evict("b", &Eviction::default(), &write()).await);
    note.note_outcome("evicted", &pods.get("b").await);

    scale(note, &access.typed(apps.deployments(namespace)), workload("apps/v1", "Deployment")).await;
    scale(note, &access.typed(apps.replica_sets(namespace)), workload("apps/v1", "ReplicaSet")).await;
    scale(note, &access.typed(apps.stateful_sets(namespace)), workload("apps/v1", "StatefulSet")).await;
    let controllers = access.typed(core.replication_controllers(namespace));
    scale(note, &controllers, workload("v1", "ReplicationController")).await;

    let accounts = access.typed(core.service_accounts(namespace));
    accounts.create(&object(json!({"metadata": {"name": "a"}})), &write()).await.unwrap();
    let token = accounts.create_token("a", &object::<TokenRequest>(token_request()), &write()).await;
    assert!(token.as_ref().is_ok_and(|it| !it.status.token.is_empty()));
    note.note_outcome("token", &token);

    let namespaces = access.typed(core.namespaces());
    let named = json!({"metadata": {"name": format!("{namespace}-too")}});
    let mut namespace = namespaces.create(&object(named), &write()).await.unwrap();
    namespace.spec.finalizers = vec!["example.com/mine".into()];
    note.note_outcome("finalize", &namespaces.finalize(&namespace, &write()).await);
    transcript
}

async fn scale<K>(transcript: &mut Transcript, objects: &Api<K>, workload: Value)
where
    K: Scaled + serde::Serialize + serde::de::DeserializeOwned,
{
    objects.create(&object(workload), &write()).await.unwrap();
    let mut scale = objects.get_scale("a").await.unwrap();
    transcript.note("get scale", &scale);
    scale.spec.replicas = 3;
    transcript.note_outcome("update scale", &objects.update_scale(&scale, &write()).await);
    scale.spec.replicas = 4;
    transcript.note_outcome("update stale scale", &objects.update_scale(&scale, &write()).await.map(drop));
    let patched = objects.patch_scale("a", MERGE, &json!({"spec": {"replicas": 5}}), &write()).await;
    transcript.note_outcome("patch scale", &patched);
}

async fn dynamic(target: &Target) -> Transcript {
    let mut transcript = Transcript::default();
    let note = &mut transcript;
    let of = |version: &str, resource: &str| target.client.dynamic(&version.parse().unwrap(), resource);
    let namespaced = |version: &str, resource: &str| of(version, resource).namespace(&target.namespace);

    let pods = namespaced("v1", "pods");
    for name in ["a", "b"] {
        pods.create(&object(pod(name)), &write()).await.unwrap();
    }
    let mut changed: DynamicObject = pods.get_subresource("a", "ephemeralcontainers").await.unwrap();
    note.note("get ephemeral", &changed);
    changed.set(&["spec", "ephemeralContainers"], ephemeral("d1")["spec"]["ephemeralContainers"].clone());
    let updated = pods.update_subresource("ephemeralcontainers", &changed, &write()).await;
    note.note_outcome("update ephemeral", &updated);
    patch(note, "patch ephemeral", &pods, "ephemeralcontainers", STRATEGIC, &ephemeral("d2")).await;

    let changed: DynamicObject = pods.get_subresource("a", "resize").await.unwrap();
    note.note("get resize", &changed);
    let mut tree = Value::from(changed);
    tree["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("200m");
    note.note_outcome("update resize", &pods.update_subresource("resize", &tree, &write()).await);
    patch(note, "patch resize", &pods, "resize", STRATEGIC, &larger("300m")).await;

    for step in ["bind", "bind again"] {
        let bound = pods.create_subresource::<Status>("a", "binding", &binding(), &write()).await;
        note.note_outcome(step, &bound);
    }
    note.note("bound", &pods.get("a").await.unwrap());
    let evicted = pods.create_subresource::<Status>("b", "eviction", &eviction(), &write()).await;
    note.note_outcome("evict", &evicted);
    note.note_outcome("evicted", &pods.get("b").await);

    for (version, resource, kind) in [
        ("apps/v1", "deployments", "Deployment"),
        ("apps/v1", "replicasets", "ReplicaSet"),
        ("apps/v1", "statefulsets", "StatefulSet"),
        ("v1", "replicationcontrollers", "ReplicationController"),
    ] {
        let objects = namespaced(version, resource);
        objects.create(&object(workload(version, kind)), &write()).await.unwrap();
        let mut scale: DynamicObject = objects.get_subresource("a", "scale").await.unwrap();
        note.note("get scale", &scale);
        scale.set(&["spec", "replicas"], json!(3));
        note.note_outcome("update scale", &objects.update_subresource("scale", &scale, &write()).await);
        scale.set(&["spec", "replicas"], json!(4));
        let stale = objects.update_subresource("scale", &scale, &write()).await;
        note.note_outcome("update stale scale", &stale.map(drop));
        patch(note, "patch scale", &objects, "scale", MERGE, &json!({"spec": {"replicas": 5}})).await;
    }

    let accounts = namespaced("v1", "serviceaccounts");
    accounts.create(&DynamicObject::new("v1", "ServiceAccount", "a"), &write()).await.unwrap();
    let token = accounts.create_subresource::<Value>("a", "token", &token_request(), &write()).await;
    note.note_outcome("token", &token);

    let namespaces = of("v1", "namespaces");
    let named = DynamicObject::new("v1", "Namespace", &format!("{}-too", target.namespace));
    let mut namespace = namespaces.create(&named, &write()).await.unwrap();
    namespace.set(&["spec", "finalizers"], json!(["example.com/mine"]));
    note.note_outcome("finalize", &namespaces.update_subresource("finalize", &namespace, &write()).await);
    transcript
}

async fn patch(
    transcript: &mut Transcript,
    step: &str,
    objects: &ResourceClient<DynamicObject>,
    subresource: &str,
    kind: PatchKind,
    patch: &Value,
) {
    let patched = objects.patch_subresource::<Value>("a", subresource, kind, patch, &write()).await;
    transcript.note_outcome(step, &patched);
}

/// Checks that all steps succeeded.
pub(crate) fn check(transcript: &Transcript) {
    let names = |step: &str| transcript.step(step)["spec"]["ephemeralContainers"].as_array().unwrap().len();
    assert_eq!((names("update ephemeral"), names("patch ephemeral")), (1, 2));
    let cpu = |step: &str| {
        transcript.step(step)["spec"]["containers"][0]["resources"]["requests"]["cpu"].as_str().unwrap()
    };
    assert_eq!((cpu("update resize"), cpu("patch resize")), ("200m", "300m"));
    assert_eq!(transcript.step("bind")["status"], "Success");
    assert_eq!(transcript.step("bound")["spec"]["nodeName"], "node-1");
    assert_eq!(transcript.step("update scale")["spec"]["replicas"], 3);
    assert_eq!(transcript.step("patch scale")["spec"]["replicas"], 5);
    assert!(transcript.step("update stale scale").as_str().unwrap().contains("the object has been modified"));
    assert_eq!(transcript.step("finalize")["spec"]["finalizers"], json!(["example.com/mine"]));
}
