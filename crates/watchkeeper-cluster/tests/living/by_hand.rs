//! Pods without a node: the tests write the status that a kubelet would.

use std::collections::HashSet;

use serde_json::{Value, json};
use watchkeeper_cache::delta::Delta;
use watchkeeper_client::dynamic::{DeleteOptions, WriteOptions};
use watchkeeper_client::rest::PatchKind;

use crate::living::{Living, PODS};

/// Returns a template of pods that no scheduler assigns.
pub(crate) fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"schedulerName": "by-hand", "containers": [{"name": app, "image": image}]},
    })
}

/// Returns whether a pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|each| each["type"] == "Ready" && each["status"] == "True")
}

/// Returns whether the first owner of an object is `owner`, by UID.
pub(crate) fn is_child_of(object: &Value, owner: &Value) -> bool {
    object["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

impl Living {
    /// Writes a running pod's readiness.
    pub(crate) async fn set_ready(&self, pod: &Value, ready: bool) {
        self.set_status(pod, serving(ready)).await;
    }

    /// Writes a pod's status.
    pub(crate) async fn set_status(&self, pod: &Value, status: Value) {
        let api = self.api(&PODS, pod["metadata"]["namespace"].as_str().unwrap());
        let patch = json!({"status": status});
        api.patch_status(name(pod), PatchKind::Merge, &patch, &WriteOptions::default()).await.unwrap();
    }

    /// Waits for a condition on the pods of a namespace.
    pub(crate) async fn until_pods(&self, namespace: &str, is_so: impl Fn(&[&Value]) -> bool) {
        self.until_all(&PODS, |all| {
            let here = all.iter().filter(|(key, _)| key.namespace() == Some(namespace));
            is_so(&here.map(|(_, pod)| pod).collect::<Vec<_>>())
        })
        .await;
    }

    /// Removes a pod, as its kubelet finally does.
    pub(crate) async fn remove(&self, pod: &Value) {
        let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        self.delete(&PODS, pod["metadata"]["namespace"].as_str().unwrap(), name(pod), &now).await;
    }
}

/// A task that marks every new pod ready, and removes those being deleted.
pub(crate) struct ManualKubelet {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for ManualKubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Living {
    pub(crate) fn manual_kubelet(&self) -> ManualKubelet {
        let informer = self.informer(&PODS);
        informer.start();
        let api = self.api(&PODS, "");
        let task = tokio::spawn(async move {
            let mut changes = informer.subscribe(Default::default());
            let mut ready = HashSet::new();
            while let Some(change) = changes.next().await {
                let head = &change.newest().metadata;
                let (namespace, name) = (head.key().namespace().unwrap(), head.key().name());
                let api = api.clone().namespace(namespace);
                // Errors mean that the pod is already gone.
                if matches!(change, Delta::Deleted { .. }) {
                    ready.remove(head.uid());
                } else if head.deletion_timestamp().is_some() {
                    let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
                    let _ = api.delete(name, &now).await;
                } else if ready.insert(head.uid().to_owned()) {
                    let patch = json!({"status": serving(true)});
                    let _ = api.patch_status(name, PatchKind::Merge, &patch, &WriteOptions::default()).await;
                }
            }
        });
        ManualKubelet { task }
    }
}

fn serving(ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    let since = "2026-01-01T00:00:00Z";
    let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
    json!({"phase": "Running", "conditions": [ready]})
}
