//! Admission: what a new object is given because of other objects, or because of what the cluster promises.

use std::sync::Arc;

use crate::store::{Collection, RangeQuery, Stored};
use serde_json::{Value, json};
use watchkeeper_core::Status;

use super::draft::Draft;
use super::refusal::unavailable;
use super::{Call, Writer};

/// How long a pod stays on a node that has stopped to answer, in seconds.
const PATIENCE: i64 = 300;
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

impl Writer {
    /// Completes an object that is to be created: 403 where it may not be.
    pub(super) async fn admit(&self, call: &Call<'_>, draft: &mut Draft) -> Result<(), Status> {
        match (&*call.resource.group, &*call.resource.name) {
            ("", "nodes") => taint(draft),
            ("", "pods") => {
                self.set_limits(call, draft).await?;
                self.set_priority(call, draft).await?;
                tolerate(draft);
            }
            ("", "persistentvolumes") => protect(draft, "kubernetes.io/pv-protection"),
            ("", "persistentvolumeclaims") => {
                self.set_storage_class(draft).await?;
                protect(draft, "kubernetes.io/pvc-protection");
            }
            ("storage.k8s.io", "volumeattributesclasses") => protect(draft, "kubernetes.io/vac-protection"),
            ("networking.k8s.io", "ingresses") => self.set_ingress_class(draft).await?,
            _ => {}
        }
        Ok(())
    }

    async fn set_storage_class(&self, claim: &mut Draft) -> Result<(), Status> {
        const MARKS: [&str; 2] = [
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ];
        let annotation = annotation(claim, "volume.beta.kubernetes.io/storage-class");
        let has_class = claim.part("spec").is_some_and(|spec| spec.get("storageClassName").is_some());
        if !has_class
            && annotation.is_none()
            && let Some(class) = self.newest_marked("storage.k8s.io/storageclasses", &MARKS).await?
        {
            claim.set_in("spec", "storageClassName", Some(class.into()));
        }
        Ok(())
    }

    async fn set_ingress_class(&self, ingress: &mut Draft) -> Result<(), Status> {
        const MARKS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];
        let annotation = annotation(ingress, "kubernetes.io/ingress.class");
        let has_class = ingress.part("spec").is_some_and(|spec| spec.get("ingressClassName").is_some());
        if !has_class
            && annotation.is_none()
            && let Some(class) = self.newest_marked("networking.k8s.io/ingressclasses", &MARKS).await?
        {
            ingress.set_in("spec", "ingressClassName", Some(class.into()));
        }
        Ok(())
    }

    /// The name of the newest object with one of the annotations set to `true`; of equally new ones the first.
    async fn newest_marked(
        &self,
        collection: &'static str,
        marks: &[&str],
    ) -> Result<Option<String>, Status> {
        let mut newest: Option<Draft> = None;
        for stored in self.all(collection).await? {
            let class = Draft::of(&stored)?;
            let is_marked = marks.iter().any(|mark| annotation(&class, mark) == Some("true"));
            let is_newer =
                |newest: &Draft| newest.text("creationTimestamp") < class.text("creationTimestamp");
            if is_marked && newest.as_ref().is_none_or(is_newer) {
                newest = Some(class);
            }
        }
        Ok(newest.map(|class| class.text("name").to_owned()))
    }

    /// All objects of a collection, by name.
    pub(super) async fn all(&self, collection: &'static str) -> Result<Vec<Arc<Stored>>, Status> {
        let query = RangeQuery::all(Collection::from(collection));
        Ok(self.store.range(query).await.map_err(unavailable)?.items)
    }
}

fn annotation<'a>(draft: &'a Draft, key: &str) -> Option<&'a str> {
    draft.meta("annotations")?.get(key)?.as_str()
}

/// Appends to a list of the spec.
fn push(draft: &mut Draft, list: &str, item: Value) {
    let items = draft.part_mut("spec").entry(list).or_insert_with(|| json!([]));
    if let Value::Array(items) = items {
        items.push(item);
    }
}

fn list<'a>(draft: &'a Draft, name: &str) -> &'a [Value] {
    let list = draft.part("spec").and_then(|spec| spec.get(name)?.as_array());
    list.map(Vec::as_slice).unwrap_or_default()
}

/// Nobody is to come to a new node before somebody has seen it ready.
fn taint(node: &mut Draft) {
    let is_tainted =
        list(node, "taints").iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule");
    if !is_tainted {
        push(node, "taints", json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

/// Pods leave nodes that do not answer after a while, and say so.
pub(super) fn tolerate(pod: &mut Draft) {
    for key in [NOT_READY, UNREACHABLE] {
        let tolerates = |said: &Value| {
            let has = |name: &str, wanted: &str| {
                said[name].as_str().is_none_or(|text| text.is_empty() || text == wanted)
            };
            has("key", key) && has("effect", "NoExecute")
        };
        if !list(pod, "tolerations").iter().any(tolerates) {
            let toleration = json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": PATIENCE,
            });
            push(pod, "tolerations", toleration);
        }
    }
}

/// What is in use does not go before its users: a controller takes the finalizer away.
fn protect(draft: &mut Draft, finalizer: &str) {
    let mut finalizers: Vec<Value> = draft.finalizers().into_iter().map(Into::into).collect();
    if !finalizers.iter().any(|said| said == finalizer) {
        finalizers.push(finalizer.into());
        draft.set_meta("finalizers", Some(finalizers.into()));
    }
}
