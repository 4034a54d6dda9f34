//! Deletion of namespaces.

use serde_json::{Value, json};
use watchkeeper_apiserver::faults::Fault;
use watchkeeper_apiserver::http::Verb;
use watchkeeper_client::dynamic::{DeleteOptions, WriteOptions};

use crate::living::{CONFIG_MAPS, Living, NAMESPACES, NODES, Of, PODS, SERVICE_ACCOUNTS};

const SECRETS: Of = Of("v1/secrets", "Secret");

impl Living {
    async fn delete_namespace(&self, name: &str) {
        self.delete(&NAMESPACES, "", name, &DeleteOptions::default()).await;
    }

    async fn until_namespace_is_gone(&self, name: &str) {
        self.until(&NAMESPACES, "", name, |namespace| namespace.is_none()).await;
    }

    /// Waits for a condition of a namespace, and returns its reason and message.
    async fn until_condition(&self, name: &str, kind: &str, status: &str) -> (Value, Value) {
        let is_so = |namespace: Option<&Value>| {
            namespace.and_then(|it| condition(it, kind)).is_some_and(|it| it["status"] == status)
        };
        self.until(&NAMESPACES, "", name, is_so).await;
        let namespace = self.get(&NAMESPACES, "", name).await.unwrap();
        let condition = condition(&namespace, kind).unwrap();
        (condition["reason"].clone(), condition["message"].clone())
    }
}

fn condition<'a>(namespace: &'a Value, kind: &str) -> Option<&'a Value> {
    let all = namespace["status"]["conditions"].as_array()?;
    all.iter().find(|condition| condition["type"] == kind)
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn held(name: &str) -> Value {
    json!({"metadata": {"name": name, "finalizers": ["example.com/hold"]}})
}

fn pod(name: &str, node: Option<&str>) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "busybox"}]},
    })
}

#[tokio::test]
async fn a_namespace_is_deleted_with_its_content() {
    let living = Living::start().await;
    for namespace in ["shop", "bank"] {
        living.namespace(namespace).await;
        living.until(&SERVICE_ACCOUNTS, namespace, "default", |account| account.is_some()).await;
        for name in ["a", "b", "c"] {
            living.create(&CONFIG_MAPS, namespace, named(name)).await;
            living.create(&SECRETS, namespace, named(name)).await;
        }
    }
    living.create(&PODS, "shop", pod("web", None)).await;
    living.delete_namespace("shop").await;
    living.until_namespace_is_gone("shop").await;
    for of in [&CONFIG_MAPS, &SECRETS, &PODS, &SERVICE_ACCOUNTS] {
        assert_eq!(living.list(of, "shop").await, Vec::<Value>::new(), "{}", of.1);
    }
    assert_eq!(living.list(&SECRETS, "bank").await.len(), 3, "another namespace is unaffected");

    living.namespace("shop").await; // a new namespace of the same name
    living.until(&SERVICE_ACCOUNTS, "shop", "default", |account| account.is_some()).await;
    living.stop().await;
}

#[tokio::test]
async fn finalizers_delay_the_deletion_and_appear_in_conditions() {
    let living = Living::start().await;
    living.namespace("shop").await;
    living.until(&SERVICE_ACCOUNTS, "shop", "default", |account| account.is_some()).await;
    for name in ["a", "b"] {
        living.create(&SECRETS, "shop", held(name)).await;
        living.create(&CONFIG_MAPS, "shop", named(name)).await;
    }
    living.delete_namespace("shop").await;
    let (reason, message) = living.until_condition("shop", "NamespaceContentRemaining", "True").await;
    assert_eq!(reason, "SomeResourcesRemain");
    assert_eq!(message, "Some resources are remaining: secrets. has 2 resource instances");
    let (reason, message) = living.until_condition("shop", "NamespaceFinalizersRemaining", "True").await;
    assert_eq!(reason, "SomeFinalizersRemain");
    assert_eq!(
        message,
        "Some content in the namespace has finalizers remaining: example.com/hold in 2 resource instances"
    );
    for (kind, reason, message) in [
        ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
    ] {
        let actual = living.until_condition("shop", kind, "False").await;
        assert_eq!(actual, (json!(reason), json!(message)), "{kind}");
    }
    assert_eq!(
        living.list(&CONFIG_MAPS, "shop").await,
        Vec::<Value>::new(),
        "objects without finalizers are gone"
    );
    assert_eq!(living.list(&SERVICE_ACCOUNTS, "shop").await, Vec::<Value>::new(), "and are not recreated");
    for name in ["a", "b"] {
        living.patch(&SECRETS, "shop", name, json!({"metadata": {"finalizers": null}})).await;
    }
    living.until_namespace_is_gone("shop").await;
    living.stop().await;
}

#[tokio::test]
async fn pods_stop_gracefully_before_other_content_is_deleted() {
    let living = Living::start().await;
    living.namespace("shop").await;
    living.create(&CONFIG_MAPS, "shop", named("settings")).await;
    living.create(&NODES, "", named("by-hand")).await; // no kubelet removes pods there
    living.create(&PODS, "shop", pod("web", Some("by-hand"))).await;
    living.delete_namespace("shop").await;
    living.until_condition("shop", "NamespaceDeletionContentFailure", "False").await;
    let pod = living.get(&PODS, "shop", "web").await.unwrap();
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
    assert!(living.get(&CONFIG_MAPS, "shop", "settings").await.is_some(), "still there for the pod");

    let at_once = DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
    living.delete(&PODS, "shop", "web", &at_once).await; // as its kubelet would
    living.until_namespace_is_gone("shop").await;
    living.stop().await;
}

#[tokio::test]
async fn a_failed_deletion_appears_in_conditions_and_delays_nothing_else() {
    let living = Living::start().await;
    living.namespace("shop").await;
    living.create(&SECRETS, "shop", named("a")).await;
    living.create(&CONFIG_MAPS, "shop", named("a")).await;
    let away = watchkeeper_core::Status::internal_error("the keys are lost");
    let fault = Fault::on(Verb::DeleteCollection).resource("secrets").answer(away);
    let fault = living.server.faults().add(fault);
    living.delete_namespace("shop").await;
    let (reason, message) = living.until_condition("shop", "NamespaceDeletionContentFailure", "True").await;
    assert_eq!(reason, "ContentDeletionFailed");
    let expected =
        "Failed to delete all resource types, 1 remaining: Internal error occurred: the keys are lost";
    assert_eq!(message, expected);
    living.until(&CONFIG_MAPS, "shop", "a", |map| map.is_none()).await;
    assert!(living.get(&SECRETS, "shop", "a").await.is_some());
    fault.remove();
    living.until_namespace_is_gone("shop").await;
    living.stop().await;
}

#[tokio::test]
async fn other_namespace_finalizers_are_left_to_their_owners() {
    let living = Living::start().await;
    let shop =
        json!({"metadata": {"name": "shop"}, "spec": {"finalizers": ["kubernetes", "example.com/more"]}});
    living.create(&NAMESPACES, "", shop).await;
    living.delete_namespace("shop").await;
    let is_emptied = |namespace: Option<&Value>| {
        namespace.is_some_and(|it| it["spec"]["finalizers"] == json!(["example.com/more"]))
    };
    living.until(&NAMESPACES, "", "shop", is_emptied).await;
    let mut shop = living.api(&NAMESPACES, "").get("shop").await.unwrap();
    shop.set(&["spec", "finalizers"], json!([]));
    let _: Value = living
        .api(&NAMESPACES, "")
        .update_subresource("finalize", &Value::from(shop), &WriteOptions::default())
        .await
        .unwrap();
    living.until_namespace_is_gone("shop").await;
    living.stop().await;
}
