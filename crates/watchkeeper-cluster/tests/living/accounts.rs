//! Objects that every namespace has.

use serde_json::json;

use crate::living::{CONFIG_MAPS, Living, SERVICE_ACCOUNTS};

const ROOT_CA: &str = "kube-root-ca.crt";

#[tokio::test]
async fn every_namespace_has_a_service_account_and_the_ca_bundle() {
    let living = Living::start().await;
    living.namespace("shop").await;
    for namespace in ["default", "kube-system", "shop"] {
        living.until(&SERVICE_ACCOUNTS, namespace, "default", |account| account.is_some()).await;
        let pem = living.server.ca_pem().map(str::to_owned);
        let has_it = |map: Option<&serde_json::Value>| {
            map.is_some_and(|map| map["data"]["ca.crt"].as_str() == pem.as_deref())
        };
        living.until(&CONFIG_MAPS, namespace, ROOT_CA, has_it).await;
    }
    living.stop().await;
}

#[tokio::test]
async fn a_deleted_account_is_recreated_and_a_changed_bundle_restored() {
    let living = Living::start().await;
    living.namespace("shop").await;
    let uid = |object: Option<&serde_json::Value>| object.map(|object| object["metadata"]["uid"].clone());
    living.until(&SERVICE_ACCOUNTS, "shop", "default", |account| account.is_some()).await;
    let first = uid(living.get(&SERVICE_ACCOUNTS, "shop", "default").await.as_ref());
    living.delete(&SERVICE_ACCOUNTS, "shop", "default", &Default::default()).await;
    living
        .until(&SERVICE_ACCOUNTS, "shop", "default", |account| account.is_some() && uid(account) != first)
        .await;

    living.until(&CONFIG_MAPS, "shop", ROOT_CA, |map| map.is_some()).await;
    living.patch(&CONFIG_MAPS, "shop", ROOT_CA, json!({"data": {"ca.crt": "forged"}})).await;
    living
        .until(&CONFIG_MAPS, "shop", ROOT_CA, |map| map.is_some_and(|map| map["data"]["ca.crt"] != "forged"))
        .await;
    living.stop().await;
}
