//! kube-rs: a typed client creates, patches and watches custom objects on our server.

use futures_util::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::object::Object;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use watchkeeper_apiserver::server::ApiServer;

use super::{Outcome, TIMEOUT, define};

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
async fn a_typed_kube_api_creates_patches_and_watches_widgets() -> Outcome {
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
    let created = widgets
        .create(
            &PostParams::default(),
            &Object::new("a", &resource, Spec { color: "red".into(), size: None }),
        )
        .await?;
    assert_eq!(created.spec.size, Some(1), "the schema's default");
    let status = serde_json::json!({"status": {"size": 4}});
    widgets.patch_status("a", &PatchParams::default(), &Patch::Merge(status)).await?;
    let scale = serde_json::json!({"spec": {"replicas": 6}});
    let scaled = widgets.patch_scale("a", &PatchParams::default(), &Patch::Merge(scale)).await?;
    assert_eq!(scaled.spec.and_then(|spec| spec.replicas), Some(6));
    widgets.delete("a", &DeleteParams::default()).await?;
    let mut received = Vec::new();
    while received.len() < 4 {
        match timeout(TIMEOUT, events.try_next()).await??.unwrap() {
            WatchEvent::Added(widget) => received.push(("added", widget.spec.size, widget.status)),
            WatchEvent::Modified(widget) => received.push(("modified", widget.spec.size, widget.status)),
            WatchEvent::Deleted(widget) => received.push(("deleted", widget.spec.size, widget.status)),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(error) => panic!("{error:?}"),
        }
    }
    let status = Some(Status { size: 4 });
    let expected = [
        ("added", Some(1), None),
        ("modified", Some(1), status.clone()),
        ("modified", Some(6), status.clone()),
        ("deleted", Some(6), status),
    ];
    assert_eq!(received, expected);
    server.stop().await;
    Ok(())
}
