//! Claims, volumes and volume attributes classes stay after deletion while something uses them.

use serde_json::{Value, json};
use watchkeeper_client::dynamic::DeleteOptions;
use watchkeeper_cluster::{Cluster, Script, Timings};

use crate::living::{Living, NAMESPACES, NODES, Of, PODS, SERVICE_ACCOUNTS};
use crate::pods::{is_ready, pod};

const CLAIMS: Of = Of("v1/persistentvolumeclaims", "PersistentVolumeClaim");
const VOLUMES: Of = Of("v1/persistentvolumes", "PersistentVolume");
const CLASSES: Of = Of("storage.k8s.io/v1/volumeattributesclasses", "VolumeAttributesClass");

fn claim(name: &str, spec: Value) -> Value {
    let mut whole = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let Value::Object(fields) = spec else { panic!("a spec is an object") };
    for (key, value) in fields {
        whole[key] = value;
    }
    json!({"metadata": {"name": name}, "spec": whole})
}

fn volume(name: &str) -> Value {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"},
    });
    json!({"metadata": {"name": name}, "spec": spec})
}

fn class(name: &str) -> Value {
    json!({"metadata": {"name": name}, "driverName": "disks.example.com", "parameters": {"iops": "1000"}})
}

/// Returns a pod that mounts a claim on a node that is not simulated.
fn mounting(name: &str, claim: &str) -> Value {
    let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]);
    pod(name, json!({"nodeName": "by-hand", "volumes": volumes}), &Script::default())
}

fn is_waiting(object: Option<&Value>) -> bool {
    object.is_some_and(|object| {
        !object["metadata"]["deletionTimestamp"].is_null() && object["metadata"]["finalizers"] != json!([])
    })
}

impl Living {
    async fn delete_object(&self, of: &Of, namespace: &str, name: &str) {
        self.delete(of, namespace, name, &DeleteOptions::default()).await;
    }

    async fn until_gone(&self, of: &Of, namespace: &str, name: &str) {
        self.until(of, namespace, name, |object| object.is_none()).await;
    }
}

#[tokio::test]
async fn an_unused_claim_volume_or_class_is_gone_after_its_deletion() {
    let living = Living::start().await;
    for (of, namespace, object) in [
        (&CLAIMS, "default", claim("data", json!({}))),
        (&VOLUMES, "", volume("disk")),
        (&CLASSES, "", class("gold")),
    ] {
        let created = living.create(of, namespace, object).await;
        let name = created["metadata"]["name"].as_str().unwrap();
        assert_eq!(created["metadata"]["finalizers"].as_array().unwrap().len(), 1, "{name} is protected");
        living.delete_object(of, namespace, name).await;
        living.until_gone(of, namespace, name).await;
    }
    living.stop().await;
}

#[tokio::test]
async fn a_claim_stays_until_the_last_pod_that_mounts_it_is_gone() {
    let living = Living::start().await;
    living.create(&NODES, "", json!({"metadata": {"name": "by-hand"}})).await;
    for name in ["data", "spare"] {
        living.create(&CLAIMS, "default", claim(name, json!({}))).await;
    }
    for name in ["db-0", "db-1"] {
        living.create(&PODS, "default", mounting(name, "data")).await;
    }
    living.delete_object(&CLAIMS, "default", "data").await;
    let at_once = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
    living.delete(&PODS, "default", "db-0", &at_once).await;
    living.delete_object(&CLAIMS, "default", "spare").await;
    living.until_gone(&CLAIMS, "default", "spare").await; // the controller has processed both by now
    assert!(is_waiting(living.get(&CLAIMS, "default", "data").await.as_ref()), "db-1 mounts it");

    living.delete(&PODS, "default", "db-1", &at_once).await;
    living.until_gone(&CLAIMS, "default", "data").await;
    living.stop().await;
}

#[tokio::test]
async fn a_volume_stays_while_it_is_bound_to_a_claim() {
    let living = Living::start().await;
    living.create(&VOLUMES, "", volume("disk")).await;
    let bound = living.create(&CLAIMS, "default", claim("data", json!({"volumeName": "disk"}))).await;
    let reference = json!({"namespace": "default", "name": "data", "uid": bound["metadata"]["uid"]});
    living.patch(&VOLUMES, "", "disk", json!({"spec": {"claimRef": reference}})).await;
    let api = living.api(&VOLUMES, "");
    let phase = json!({"status": {"phase": "Bound"}});
    let merge = watchkeeper_client::rest::PatchKind::Merge;
    api.patch_status("disk", merge, &phase, &Default::default()).await.unwrap();

    living.create(&VOLUMES, "", volume("spare")).await;
    for name in ["disk", "spare"] {
        living.delete_object(&VOLUMES, "", name).await;
    }
    living.until_gone(&VOLUMES, "", "spare").await;
    assert!(is_waiting(living.get(&VOLUMES, "", "disk").await.as_ref()));

    living.delete_object(&CLAIMS, "default", "data").await;
    living.until_gone(&VOLUMES, "", "disk").await;
    living.stop().await;
}

#[tokio::test]
async fn a_class_stays_while_a_claim_or_a_volume_names_it() {
    let living = Living::start().await;
    for name in ["gold", "spare"] {
        living.create(&CLASSES, "", class(name)).await;
    }
    living.create(&CLAIMS, "default", claim("data", json!({"volumeAttributesClassName": "gold"}))).await;
    let mut disk = volume("disk");
    disk["spec"]["csi"] = json!({"driver": "disks.example.com", "volumeHandle": "d1"});
    disk["spec"]["hostPath"].take();
    disk["spec"]["volumeAttributesClassName"] = "gold".into();
    living.create(&VOLUMES, "", disk).await;

    for name in ["gold", "spare"] {
        living.delete_object(&CLASSES, "", name).await;
    }
    living.until_gone(&CLASSES, "", "spare").await;
    living.delete_object(&CLAIMS, "default", "data").await;
    living.until_gone(&CLAIMS, "default", "data").await;
    assert!(is_waiting(living.get(&CLASSES, "", "gold").await.as_ref()), "the volume names it");

    living.delete_object(&VOLUMES, "", "disk").await;
    living.until_gone(&CLASSES, "", "gold").await;
    living.stop().await;
}

#[tokio::test]
async fn a_namespace_goes_with_its_claims_and_the_pods_that_mount_them() {
    let living = Living::with(Cluster::builder().timings(Timings::instant())).await;
    living.namespace("shop").await;
    living.until(&SERVICE_ACCOUNTS, "shop", "default", |account| account.is_some()).await;
    for name in ["data", "logs"] {
        living.create(&CLAIMS, "shop", claim(name, json!({}))).await;
    }
    let volumes = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    living.create(&PODS, "shop", pod("db", json!({"volumes": volumes}), &Script::default())).await;
    living.until(&PODS, "shop", "db", is_ready).await;
    living.delete_object(&NAMESPACES, "", "shop").await;
    living.until_gone(&NAMESPACES, "", "shop").await;
    assert_eq!(living.list(&CLAIMS, "shop").await, Vec::<Value>::new());
    living.stop().await;
}

#[tokio::test]
async fn a_protection_that_is_removed_by_hand_is_added_again() {
    let living = Living::start().await;
    living.create(&CLAIMS, "default", claim("data", json!({}))).await;
    let removed = living.patch(&CLAIMS, "default", "data", json!({"metadata": {"finalizers": null}})).await;
    assert!(removed["metadata"]["finalizers"].is_null());
    let protected = json!(["kubernetes.io/pvc-protection"]);
    living
        .until(&CLAIMS, "default", "data", |claim| {
            claim.is_some_and(|it| it["metadata"]["finalizers"] == protected)
        })
        .await;
    living.stop().await;
}

#[tokio::test]
async fn without_the_controllers_deleted_objects_wait() {
    let living = Living::with(Cluster::builder().nodes_only().timings(Timings::instant())).await;
    for (of, namespace, object) in [
        (&CLAIMS, "default", claim("data", json!({}))),
        (&VOLUMES, "", volume("disk")),
        (&CLASSES, "", class("gold")),
    ] {
        let created = living.create(of, namespace, object).await;
        living.delete_object(of, namespace, created["metadata"]["name"].as_str().unwrap()).await;
    }
    // Once a node is ready, controllers would have had time to act too.
    living.until(&NODES, "", "node-1", is_ready).await;
    for (of, namespace, name) in
        [(&CLAIMS, "default", "data"), (&VOLUMES, "", "disk"), (&CLASSES, "", "gold")]
    {
        assert!(is_waiting(living.get(of, namespace, name).await.as_ref()), "{name}");
    }
    living.stop().await;
}
