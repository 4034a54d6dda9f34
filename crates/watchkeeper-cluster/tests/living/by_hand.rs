//! Pods that no node has: what a kubelet would say of them is said by hand.

use std::collections::HashSet;

use serde_json::{Value, json};
use watchkeeper_cache::delta::Delta;
use watchkeeper_client::dynamic::{DeleteOptions, WriteOptions};
use watchkeeper_client::rest::PatchKind;

use crate::living::{Living, PODS};

/// A template of pods that no scheduler assigns.
pub(crate) fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"schedulerName": "by-hand", "containers": [{"name": app, "image": image}]},
    })
}

/// Whether it is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|each| each["type"] == "Ready" && each["status"] == "True")
}

/// Whether it is the child of an object, by its uid.
pub(crate) fn is_child_of(object: &Value, owner: &Value) -> bool {
    object["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
}

pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

impl Living {
    /// Says of a pod that it runs, and whether it serves.
    pub(crate) async fn say_ready(&self, pod: &Value, ready: bool) {
        self.say(pod, serving(ready)).await;
    }

    /// Says something of a pod in its status.
    pub(crate) async fn say(&self, pod: &Value, status: Value) {
        let api = self.api(&PODS, pod["metadata"]["namespace"].as_str().unwrap());
        let patch = json!({"status": status});
        api.patch_status(name(pod), PatchKind::Merge, &patch, &WriteOptions::default()).await.unwrap();
    }

    /// Waits for what can be said of the pods of a namespace.
    pub(crate) async fn until_pods(&self, namespace: &str, is_so: impl Fn(&[&Value]) -> bool) {
        self.until_all(&PODS, |all| {
            let here = all.iter().filter(|(key, _)| key.namespace() == Some(namespace));
            is_so(&here.map(|(_, pod)| pod).collect::<Vec<_>>())
        })
        .await;
    }

    /// Ends it, as the kubelet does in the end.
    pub(crate) async fn end(&self, pod: &Value) {
        let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        self.delete(&PODS, pod["metadata"]["namespace"].as_str().unwrap(), name(pod), &now).await;
    }
}

/// Somebody who says of every pod that it is ready as soon as it is there, and ends those that are asked to go.
pub(crate) struct Hand {
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Living {
    pub(crate) fn hand(&self) -> Hand {
        let informer = self.informer(&PODS);
        informer.start();
        let api = self.api(&PODS, "");
        let task = tokio::spawn(async move {
            let mut changes = informer.subscribe(Default::default());
            let mut ready = HashSet::new();
            while let Some(change) = changes.next().await {
                let head = &change.newest().head;
                let (namespace, name) = (head.key().namespace().unwrap(), head.key().name());
                let api = api.clone().namespace(namespace);
                // What is gone meanwhile needs nothing more.
                if matches!(change, Delta::Deleted { .. }) {
                    ready.remove(head.uid());
                } else if head.deleted().is_some() {
                    let now = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
                    let _ = api.delete(name, &now).await;
                } else if ready.insert(head.uid().to_owned()) {
                    let patch = json!({"status": serving(true)});
                    let _ = api.patch_status(name, PatchKind::Merge, &patch, &WriteOptions::default()).await;
                }
            }
        });
        Hand { task }
    }
}

fn serving(ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    let since = "2026-01-01T00:00:00Z";
    let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
    json!({"phase": "Running", "conditions": [ready]})
}
