//! kube-rs: a client with types of its own creates, changes and watches custom objects of our server.

use futures_util::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::object::Object;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;

use super::{Outcome, PATIENCE, define};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Spec {
    color: String,
    size: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Status {
    size: u32,
}

type Widget = Object<Spec, Status>;

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_api_of_kube_creates_changes_and_watches_widgets() -> Outcome {
    let server = ApiServer::builder().plain_http().start().await?;
    define(&watchkeeper_oracle::Client::new(server.url(), None, server.token())?).await?;
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&server.kubeconfig().render())?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    let client = kube::Client::try_from(config)?;
    let apis = kube::discovery::group(&client, "example.com").await?;
    let (resource, capabilities) = apis.recommended_kind("Widget").unwrap();
    assert_eq!((&*resource.plural, &*resource.version), ("widgets", "v1"));
    assert!(capabilities.subresources.iter().any(|(sub, _)| sub.plural == "scale"));
    let widgets: Api<Widget> = Api::namespaced_with(client, "default", &resource);

    let mut events = widgets.watch(&WatchParams::default(), "0").await?.boxed();
    let made = widgets
        .create(
            &PostParams::default(),
            &Object::new("a", &resource, Spec { color: "red".into(), size: None }),
        )
        .await?;
    assert_eq!(made.spec.size, Some(1), "the default of the schema");
    let status = serde_json::json!({"status": {"size": 4}});
    widgets.patch_status("a", &PatchParams::default(), &Patch::Merge(status)).await?;
    let scale = serde_json::json!({"spec": {"replicas": 6}});
    let scaled = widgets.patch_scale("a", &PatchParams::default(), &Patch::Merge(scale)).await?;
    assert_eq!(scaled.spec.and_then(|spec| spec.replicas), Some(6));
    widgets.delete("a", &DeleteParams::default()).await?;
    let mut told = Vec::new();
    while told.len() < 4 {
        match timeout(PATIENCE, events.try_next()).await??.unwrap() {
            WatchEvent::Added(widget) => told.push(("added", widget.spec.size, widget.status)),
            WatchEvent::Modified(widget) => told.push(("modified", widget.spec.size, widget.status)),
            WatchEvent::Deleted(widget) => told.push(("deleted", widget.spec.size, widget.status)),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => panic!("{error:?}"),
        }
    }
    let there = Some(Status { size: 4 });
    let expected = [
        ("added", Some(1), None),
        ("modified", Some(1), there.clone()),
        ("modified", Some(6), there.clone()),
        ("deleted", Some(6), there),
    ];
    assert_eq!(told, expected);
    server.stop().await;
    Ok(())
}
