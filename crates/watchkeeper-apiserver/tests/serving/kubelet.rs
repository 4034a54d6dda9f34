//! Requests that the server forwards to a kubelet.

use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn requests_for_an_unreachable_kubelet_name_the_reason() {
    let world = World::start().await;
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    world.write("POST", PODS, pod.clone()).await;
    assert_eq!(world.get(&format!("{PODS}/a/log"), "*/*").await, (204, json!("")));
    let (code, status) = world.get(&format!("{PODS}/a/log?container=d"), "*/*").await;
    assert_eq!((code, &status["message"]), (400, &json!("container d is not valid for pod a")));
    for sub in ["exec?command=true", "attach", "portforward"] {
        let (code, status) = world.write("POST", &format!("{PODS}/a/{sub}"), Value::Null).await;
        assert_eq!((code, &status["message"]), (400, &json!("pod a does not have a host assigned")), "{sub}");
        let (code, status) = world.write("POST", &format!("{PODS}/b/{sub}"), Value::Null).await;
        assert_eq!((code, &status["message"]), (404, &json!("pods \"b\" not found")), "{sub}");
    }
    let mut bound = pod;
    (bound["metadata"]["name"], bound["spec"]["nodeName"]) = ("bound".into(), "n".into());
    world.write("POST", PODS, bound).await;
    let (code, status) = world.get(&format!("{PODS}/bound/log"), "*/*").await;
    assert_eq!((code, &status["message"]), (404, &json!("nodes \"n\" not found")));
    world.write("POST", "/api/v1/nodes", json!({"metadata": {"name": "n"}})).await;
    let (code, status) = world.get(&format!("{PODS}/bound/log"), "*/*").await;
    let nowhere = json!("no preferred addresses found; known addresses: []");
    assert_eq!((code, &status["message"], &status["reason"]), (500, &nowhere, &Value::Null));
    let (code, status) = world.write("POST", &format!("{PODS}/bound/exec"), Value::Null).await;
    assert_eq!((code, &status["message"]), (500, &nowhere));
    world.server.stop().await;
}

/// The messages are those of kube-apiserver for the same objects.
#[tokio::test]
async fn kubelet_requests_are_validated_before_dialing() {
    let world = World::start().await;
    const POD: &str = "/api/v1/namespaces/default/pods/p";
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody); // so that nothing listens there
    let node = json!({"metadata": {"name": "n"}, "status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }});
    assert_eq!(world.write("POST", "/api/v1/nodes", node).await.0, 201);
    let pod = json!({"metadata": {"name": "p"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(world.write("POST", "/api/v1/namespaces/default/pods", pod).await.0, 201);

    let get = async |path: &str| {
        let (code, status) = world.get(&format!("{POD}/{path}"), "application/json").await;
        (code, status["message"].as_str().unwrap_or_default().to_owned())
    };
    let refused = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    let url = format!("https://127.0.0.1:{port}/containerLogs/default/p/c");
    assert_eq!(get("log").await, (500, format!("Get \"{url}\": {refused}")));
    let query = "follow=true&sinceTime=2020-01-01T00%3A00%3A00Z&tailLines=3";
    assert_eq!(
        get("log?tailLines=3&sinceTime=2020-01-01T00:00:00Z&follow").await,
        (500, format!("Get \"{url}?{query}\": {refused}"))
    );
    let (code, message) = get("log?limitBytes=0").await;
    assert_eq!((code, message.starts_with("PodLogOptions \"p\" is invalid: limitBytes: ")), (422, true));
    assert_eq!(get("exec?command=ls").await, (400, "Upgrade request required".to_owned()));
    assert_eq!(get("portforward").await, (400, "Upgrade request required".to_owned()));
    for (text, problem) in
        [("abc", "invalid syntax"), ("70000", "value out of range"), ("", "invalid syntax")]
    {
        let parsing = format!("strconv.ParseUint: parsing \"{text}\": {problem}");
        assert_eq!(
            get(&format!("portforward?ports={text}")).await,
            (400, format!("cannot convert to []int32: {parsing}"))
        );
    }
    world.server.stop().await;
}
