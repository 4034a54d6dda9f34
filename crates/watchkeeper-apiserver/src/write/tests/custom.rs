//! A resource that only the registry knows.

use super::*;

fn widgets() -> Resource {
    let status = registry::Subresource {
        name: "status".into(),
        group_version: None,
        kind: "Widget".into(),
        verbs: registry::Verbs::ALL,
    };
    Resource {
        kind: "Widget".into(),
        counts_generation: true,
        subresources: vec![status],
        ..Resource::new("example.com", "v1", "widgets")
    }
}

#[tokio::test]
async fn a_custom_resource_is_written_like_any_other() {
    let server = Server::start().await;
    let (widgets, options) = (widgets(), WriteOptions::default());
    let all =
        Call { resource: &widgets, subresource: None, namespace: Some("default"), name: None, user: user() };
    let (one, status) =
        (Call { name: Some("a"), ..all }, Call { name: Some("a"), subresource: Some("status"), ..all });
    let body = json!({"metadata": {"name": "a"}, "spec": {"any": [1, null]}, "status": {"x": 1}});
    let first = reply_of(server.writer.create(&all, body, &options).await).unwrap().body;
    assert_eq!((&first["spec"], &first["metadata"]["generation"]), (&json!({"any": [1, null]}), &json!(1)));
    assert_eq!(first["status"].get("x"), None);

    let patch = |patch: &Value| patch.to_string().into();
    let body = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"any": 2}, "status": {"x": 2}});
    let at_status = server.writer.patch(&status, PatchType::Merge, patch(&body), &options).await;
    let shown = reply_of(at_status).unwrap().body;
    assert_eq!((&shown["status"], &shown["spec"]), (&json!({"x": 2}), &first["spec"]));
    assert_eq!(shown["metadata"].get("labels"), None);

    let refused = server.writer.patch(&one, PatchType::Strategic, patch(&body), &options).await;
    assert_eq!(refused.unwrap_err().code, 415);
    let put = json!({"metadata": {"name": "a"}, "spec": {}});
    let refused = server.writer.update(&one, put, &options).await.unwrap_err();
    assert!(refused.message.contains("must be specified for an update"), "{}", refused.message);
    let gone = reply_of(server.writer.delete(&one, &DeleteOptions::default()).await).unwrap();
    assert_eq!(gone.body["details"]["group"], "example.com");
}
