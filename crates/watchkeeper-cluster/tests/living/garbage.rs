//! Garbage collection of owned objects.

use serde_json::{Value, json};
use watchkeeper_client::dynamic::{DeleteOptions, Propagation};
use watchkeeper_core::ObjectKey;

use crate::living::{CONFIG_MAPS, Living, NAMESPACES, Of};

const SHOP: &str = "shop";
const DEFINITIONS: Of = Of("apiextensions.k8s.io/v1/customresourcedefinitions", "CustomResourceDefinition");
const STALLS: Of = Of("example.com/v1/stalls", "Stall");
const CLUSTER_ROLES: Of = Of("rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole");

/// An owner reference, blocking the owner's deletion or not.
#[derive(Clone, Copy)]
enum Owns<'a> {
    Blocked(&'a Value),
    Free(&'a Value),
}
use Owns::{Blocked, Free};

impl Owns<'_> {
    fn reference(self) -> Value {
        let (owner, blocks) = match self {
            Blocked(owner) => (owner, true),
            Free(owner) => (owner, false),
        };
        let of = |field: &str| owner[field].clone();
        json!({
            "apiVersion": of("apiVersion"), "kind": of("kind"),
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
        })
    }
}

impl Living {
    async fn shop() -> Self {
        let living = Self::start().await;
        living.namespace(SHOP).await;
        living
    }

    async fn owned(&self, name: &str, owners: &[Owns<'_>]) -> Value {
        self.owned_with(name, owners, &[]).await
    }

    async fn owned_with(&self, name: &str, owners: &[Owns<'_>], finalizers: &[&str]) -> Value {
        let owners: Vec<Value> = owners.iter().map(|owner| owner.reference()).collect();
        let map = json!({"metadata": {"name": name, "ownerReferences": owners, "finalizers": finalizers}});
        self.create(&CONFIG_MAPS, SHOP, map).await
    }

    async fn delete_map(&self, name: &str, propagation: Propagation) {
        let options = DeleteOptions { propagation: Some(propagation), ..Default::default() };
        self.delete(&CONFIG_MAPS, SHOP, name, &options).await;
    }

    async fn release(&self, name: &str) {
        self.patch(&CONFIG_MAPS, SHOP, name, json!({"metadata": {"finalizers": null}})).await;
    }

    /// Waits until exactly these objects are left, each with this number of owners.
    async fn until_left(&self, expected: &[(&str, usize)]) {
        let is_ours = |key: &ObjectKey| key.namespace() == Some(SHOP) && key.name() != "kube-root-ca.crt";
        let owners = |map: &Value| map["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
        self.until_all(&CONFIG_MAPS, |all| {
            let ours = all.iter().filter(|(key, _)| is_ours(key));
            ours.map(|(key, map)| (key.name(), owners(map))).eq(expected.iter().copied())
        })
        .await;
    }

    /// Waits until new garbage is collected, which implies that earlier objects were processed.
    async fn collected(&self) {
        let nobody =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nobody", "uid": "none"}});
        self.owned("garbage", &[Free(&nobody)]).await;
        self.until(&CONFIG_MAPS, SHOP, "garbage", |map| map.is_none()).await;
    }
}

#[tokio::test]
async fn background_deletion_removes_three_generations() {
    let living = Living::shop().await;
    let a = living.owned("a", &[]).await;
    let b = living.owned("b", &[Free(&a)]).await;
    living.owned("c", &[Blocked(&b)]).await;
    living.collected().await;
    living.until_left(&[("a", 0), ("b", 1), ("c", 1)]).await;
    living.delete_map("a", Propagation::Background).await;
    living.until_left(&[]).await;
    living.stop().await;
}

#[tokio::test]
async fn foreground_deletion_removes_three_generations_bottom_up() {
    let living = Living::shop().await;
    let a = living.owned("a", &[]).await;
    let b = living.owned("b", &[Blocked(&a)]).await;
    living.owned_with("c", &[Blocked(&b)], &["example.com/hold"]).await;
    living.delete_map("a", Propagation::Foreground).await;
    for name in ["a", "b", "c"] {
        living
            .until(&CONFIG_MAPS, SHOP, name, |map| map.unwrap()["metadata"]["deletionTimestamp"].is_string())
            .await;
    }
    living.collected().await;
    for name in ["a", "b"] {
        let map = living.get(&CONFIG_MAPS, SHOP, name).await.unwrap();
        assert_eq!(map["metadata"]["finalizers"], json!(["foregroundDeletion"]), "{name}");
    }
    living.release("c").await;
    living.until_left(&[]).await;
    living.stop().await;
}

#[tokio::test]
async fn orphans_and_their_dependents_stay() {
    let living = Living::shop().await;
    let a = living.owned("a", &[]).await;
    let b = living.owned("b", &[Blocked(&a)]).await;
    living.owned("c", &[Blocked(&b)]).await;
    living.delete_map("a", Propagation::Orphan).await;
    living.until_left(&[("b", 0), ("c", 1)]).await;
    living.collected().await;
    living.until_left(&[("b", 0), ("c", 1)]).await;
    living.stop().await;
}

#[tokio::test]
async fn an_object_stays_while_one_owner_is_left() {
    let living = Living::shop().await;
    let top = living.owned("top", &[]).await;
    let left = living.owned("left", &[Free(&top)]).await;
    let right = living.owned("right", &[Free(&top)]).await;
    living.owned("z", &[Blocked(&left), Blocked(&right)]).await;
    living.delete_map("left", Propagation::Background).await;
    living.until_left(&[("right", 1), ("top", 0), ("z", 1)]).await;
    let z = living.get(&CONFIG_MAPS, SHOP, "z").await.unwrap();
    assert_eq!(z["metadata"]["ownerReferences"][0]["name"], "right");
    living.delete_map("top", Propagation::Foreground).await;
    living.until_left(&[]).await;
    living.stop().await;
}

#[tokio::test]
async fn a_foreground_deletion_keeps_dependents_with_another_owner() {
    let living = Living::shop().await;
    let (a, b) = (living.owned("a", &[]).await, living.owned("b", &[]).await);
    living.owned("c", &[Blocked(&a), Blocked(&b)]).await;
    living.delete_map("a", Propagation::Foreground).await;
    living.until_left(&[("b", 0), ("c", 1)]).await;
    living.stop().await;
}

#[tokio::test]
async fn an_object_with_the_owners_name_but_another_uid_is_not_the_owner() {
    let living = Living::shop().await;
    let first = living.owned("a", &[]).await;
    living.delete_map("a", Propagation::Background).await;
    let second = living.owned("a", &[]).await;
    living.owned("of-first", &[Free(&first)]).await;
    living.owned("of-second", &[Free(&second)]).await;
    living.until_left(&[("a", 0), ("of-second", 1)]).await;
    living.collected().await;
    living.until_left(&[("a", 0), ("of-second", 1)]).await;
    living.stop().await;
}

#[tokio::test]
async fn foreground_deletion_does_not_wait_for_nonblocking_dependents() {
    let living = Living::shop().await;
    let a = living.owned("a", &[]).await;
    living.owned_with("b", &[Free(&a)], &["example.com/hold"]).await;
    living.delete_map("a", Propagation::Foreground).await;
    living.until_left(&[("b", 1)]).await;
    let is_going =
        |map: Option<&Value>| map.is_some_and(|map| map["metadata"]["deletionTimestamp"].is_string());
    living.until(&CONFIG_MAPS, SHOP, "b", is_going).await;
    living.release("b").await;
    living.until_left(&[]).await;
    living.stop().await;
}

#[tokio::test]
async fn a_cycle_of_owners_is_deleted() {
    let living = Living::shop().await;
    let a = living.owned("a", &[]).await;
    let b = living.owned("b", &[Blocked(&a)]).await;
    let back = json!({"metadata": {"ownerReferences": [Blocked(&b).reference()]}});
    living.patch(&CONFIG_MAPS, SHOP, "a", back).await;
    living.collected().await;
    living.until_left(&[("a", 1), ("b", 1)]).await;
    living.delete_map("a", Propagation::Foreground).await;
    living.until_left(&[]).await;
    living.stop().await;
}

#[tokio::test]
async fn owners_must_be_in_the_same_namespace_or_cluster_scoped() {
    let living = Living::shop().await;
    let role = living.create(&CLUSTER_ROLES, "", json!({"metadata": {"name": "reader"}})).await;
    let (abroad, at_home) = (json!({"metadata": {"name": "a"}}), "default");
    let abroad = living.create(&CONFIG_MAPS, at_home, abroad).await;
    living.owned("of-abroad", &[Free(&abroad)]).await;
    living.owned("of-role", &[Free(&role)]).await;
    let of_role = json!({"metadata": {"name": "of-role", "ownerReferences": [Free(&role).reference()]}});
    living.create(&CONFIG_MAPS, at_home, of_role).await;
    let misled = json!({"metadata": {"name": "misled", "ownerReferences": [Free(&abroad).reference()]}});
    living.create(&CLUSTER_ROLES, "", misled).await;
    living.until_left(&[("of-role", 1)]).await;
    living.delete(&CLUSTER_ROLES, "", "reader", &DeleteOptions::default()).await;
    living.until_left(&[]).await;
    living.until(&CONFIG_MAPS, at_home, "of-role", |map| map.is_none()).await;
    assert!(living.get(&CONFIG_MAPS, at_home, "a").await.is_some());
    let misled = living.get(&CLUSTER_ROLES, "", "misled").await;
    assert!(misled.is_some(), "a cluster-scoped object with a namespaced owner stays");
    living.stop().await;
}

#[tokio::test]
async fn custom_resources_take_part_in_garbage_collection_and_namespace_deletion() {
    let living = Living::shop().await;
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    });
    let definition = json!({
        "metadata": {"name": "stalls.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "stalls", "singular": "stall", "kind": "Stall", "listKind": "StallList"},
        },
    });
    living.create(&DEFINITIONS, "", definition).await;
    let is_established = |definition: Option<&Value>| {
        let conditions = definition.and_then(|it| it["status"]["conditions"].as_array());
        conditions.into_iter().flatten().any(|it| it["type"] == "Established" && it["status"] == "True")
    };
    living.until(&DEFINITIONS, "", "stalls.example.com", is_established).await;

    let a = living.create(&STALLS, SHOP, json!({"metadata": {"name": "a"}})).await;
    let b = living.owned("b", &[Free(&a)]).await;
    let z = living.owned("z", &[]).await;
    let owners = json!([Free(&b).reference(), Free(&z).reference()]);
    living.create(&STALLS, SHOP, json!({"metadata": {"name": "c", "ownerReferences": owners}})).await;
    living.delete_map("z", Propagation::Background).await;
    let has_one = |stall: Option<&Value>| {
        let owners = stall.and_then(|stall| stall["metadata"]["ownerReferences"].as_array());
        owners.is_some_and(|owners| owners.len() == 1)
    };
    living.until(&STALLS, SHOP, "c", has_one).await;
    living.delete(&STALLS, SHOP, "a", &DeleteOptions::default()).await;
    living.until(&STALLS, SHOP, "c", |stall| stall.is_none()).await;
    living.until_left(&[]).await;

    living.create(&STALLS, SHOP, json!({"metadata": {"name": "d"}})).await;
    living.delete(&NAMESPACES, "", SHOP, &DeleteOptions::default()).await;
    living.until(&NAMESPACES, "", SHOP, |namespace| namespace.is_none()).await;
    assert_eq!(living.list(&STALLS, SHOP).await, Vec::<Value>::new());
    living.stop().await;
}
