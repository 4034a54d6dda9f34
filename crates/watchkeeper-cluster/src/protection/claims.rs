//! Claims: a PersistentVolumeClaim is in use while a pod that has a node mounts it.

use serde::Deserialize;
use serde::de::IgnoredAny;
use watchkeeper_cache::Reader;
use watchkeeper_client::dynamic::{DynamicApi, DynamicObject, ListOptions};
use watchkeeper_controller::{Controller, Error};
use watchkeeper_core::{LabelSelector, Object, ObjectKey};
use watchkeeper_wire::decode;

use super::{Protection, Users};
use crate::context::ControllerContext;
use crate::resource::{PERSISTENT_VOLUME_CLAIMS, PODS};
use crate::view::Meta;

const FINALIZER: &str = "kubernetes.io/pvc-protection";

/// Number of workers; each claim may need a list of pods.
const WORKERS: usize = 10;

pub(super) fn start(context: &mut ControllerContext) {
    let (claims, pods) = (context.informer(PERSISTENT_VOLUME_CLAIMS), context.informer(PODS));
    let (store, kind) = (claims.store().clone(), pods.kind().clone());
    let mounted_by = move |pod: &Object| {
        // A claim that the cache does not have yet is checked when it arrives.
        if store.snapshot().is_empty() {
            return Vec::new();
        }
        match decode::<Pod>(&pod.encoded, &kind) {
            Ok(pod) => {
                pod.claims().map(|name| ObjectKey::namespaced(&pod.metadata.namespace, &name)).collect()
            }
            Err(error) => {
                tracing::warn!(key = %pod.metadata.key(), %error, "failed to decode a pod; its claims are not checked");
                Vec::new()
            }
        }
    };
    let controller =
        Controller::new("pvc-protection", &claims).watches(&pods, mounted_by).concurrency(WORKERS);
    let users = Pods { cached: context.reader(PODS), live: context.api(PODS) };
    context.run(controller, Protection::new(context, PERSISTENT_VOLUME_CLAIMS, FINALIZER, users));
}

/// The pods that may mount a claim.
struct Pods {
    cached: Reader<Pod>,
    live: DynamicApi,
}

impl Users for Pods {
    /// The cache may not have observed a new pod yet, so a claim counts as unused only if the server lists no
    /// pod that mounts it.
    async fn in_use(&self, claim: &DynamicObject) -> Result<bool, Error> {
        let cached = self.cached.namespace(claim.namespace()).list(&LabelSelector::default()).items()?;
        if cached.iter().any(|pod| pod.mounts(claim)) {
            return Ok(true);
        }
        let live = self.live.clone().namespace(claim.namespace()).list(&ListOptions::default()).await?;
        for pod in live.items {
            if pod.to_typed::<Pod>()?.mounts(claim) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The fields that decide whether a pod mounts a claim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pod {
    metadata: Meta,
    spec: PodSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodSpec {
    node_name: String,
    volumes: Vec<Volume>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    name: String,
    persistent_volume_claim: Option<ClaimSource>,
    ephemeral: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSource {
    claim_name: String,
}

impl Pod {
    /// Returns the names of all claims that its volumes refer to.
    fn claims(&self) -> impl Iterator<Item = String> {
        self.spec.volumes.iter().filter_map(|volume| match &volume.persistent_volume_claim {
            Some(source) => Some(source.claim_name.clone()),
            None => volume.ephemeral.map(|_| self.ephemeral_claim(volume)),
        })
    }

    /// Returns whether it keeps a deleted claim in use. Pods without a node do not: a kubelet does not start
    /// a pod whose claim is being deleted.
    fn mounts(&self, claim: &DynamicObject) -> bool {
        let mounts = |volume: &Volume| match &volume.persistent_volume_claim {
            Some(source) => source.claim_name == claim.name(),
            None => {
                volume.ephemeral.is_some()
                    && self.ephemeral_claim(volume) == claim.name()
                    && self.controls(claim)
                    && !self.is_shut_down()
            }
        };
        !self.spec.node_name.is_empty() && self.spec.volumes.iter().any(mounts)
    }

    /// Returns the name of the claim that is created for an ephemeral volume.
    fn ephemeral_claim(&self, volume: &Volume) -> String {
        format!("{}-{}", self.metadata.name, volume.name)
    }

    /// Returns whether a claim was created for this pod, rather than merely having the same name.
    fn controls(&self, claim: &DynamicObject) -> bool {
        let owners = claim.get(&["metadata", "ownerReferences"]).and_then(|owners| owners.as_array());
        let is_ours = |owner: &serde_json::Value| {
            owner["controller"] == true && owner["uid"] == self.metadata.uid.as_str()
        };
        owners.is_some_and(|owners| owners.iter().any(is_ours))
    }

    /// Returns whether its containers have stopped and it only waits to be removed. Its own finalizers may
    /// wait for the claim.
    fn is_shut_down(&self) -> bool {
        self.metadata.is_terminating() && self.metadata.deletion_grace_period_seconds == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(spec: &Value) -> Pod {
        let metadata = json!({"name": "db-0", "namespace": "shop", "uid": "u1"});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn claim(name: &str, owner: Option<&str>) -> DynamicObject {
        let owners: Vec<Value> =
            owner.map(|uid| json!({"kind": "Pod", "uid": uid, "controller": true})).into_iter().collect();
        let metadata = json!({"name": name, "namespace": "shop", "ownerReferences": owners});
        DynamicObject::try_from(json!({"metadata": metadata})).unwrap()
    }

    #[test]
    fn a_pod_on_a_node_mounts_the_claims_that_its_volumes_name() {
        let volumes = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp"}]);
        let placed = pod(&json!({"nodeName": "n1", "volumes": volumes}));
        assert!(placed.mounts(&claim("data", None)));
        assert!(!placed.mounts(&claim("tmp", None)));
        assert_eq!(placed.claims().collect::<Vec<_>>(), ["data"]);
        assert!(!pod(&json!({"volumes": volumes})).mounts(&claim("data", None)), "no node");
    }

    #[test]
    fn an_ephemeral_claim_is_mounted_only_by_its_own_pod_until_that_is_shut_down() {
        let mut placed = pod(
            &json!({"nodeName": "n1", "volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {}}}]}),
        );
        assert_eq!(placed.claims().collect::<Vec<_>>(), ["db-0-tmp"]);
        assert!(placed.mounts(&claim("db-0-tmp", Some("u1"))));
        assert!(!placed.mounts(&claim("db-0-tmp", Some("u2"))), "another pod of this name");
        assert!(!placed.mounts(&claim("db-0-tmp", None)), "a claim with another owner");
        placed.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        placed.metadata.deletion_grace_period_seconds = Some(0);
        assert!(!placed.mounts(&claim("db-0-tmp", Some("u1"))));
    }
}
