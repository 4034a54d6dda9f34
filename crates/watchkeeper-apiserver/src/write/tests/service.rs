//! Allocation of service addresses.

use super::*;

fn service(name: &str, spec: impl Into<Value>) -> Value {
    json!({"metadata": {"name": name}, "spec": spec.into()})
}

async fn spec(server: &Server, name: &str, spec: Value) -> Value {
    server.post("services", service(name, spec)).await.unwrap().body["spec"].take()
}

#[tokio::test]
async fn no_address_is_allocated_twice() {
    let server = Server::start().await;
    let mut addresses = std::collections::BTreeSet::new();
    for name in ["a", "b", "c"] {
        let spec = spec(&server, name, json!({"type": "NodePort", "ports": [{"port": 80}]})).await;
        assert!(addresses.insert(spec["clusterIP"].to_string()), "{addresses:?}");
        assert!(addresses.insert(spec["ports"][0]["nodePort"].to_string()), "{addresses:?}");
        assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
    }
    let taken = server.stored("services/a").await.unwrap()["spec"].take();
    let refused = |spec| server.post("services", service("d", spec));
    let status =
        refused(json!({"clusterIP": taken["clusterIP"], "ports": [{"port": 80}]})).await.unwrap_err();
    let address = taken["clusterIP"].as_str().unwrap();
    assert_eq!(
        status.message,
        format!(
            "Service \"d\" is invalid: spec.clusterIPs: Invalid value: [\"{address}\"]: failed to allocate IP {address}: \
             provided IP is already allocated"
        )
    );
    let port = json!({"port": 80, "nodePort": taken["ports"][0]["nodePort"]});
    let status = refused(json!({"type": "NodePort", "ports": [port]})).await.unwrap_err();
    assert!(status.message.ends_with("provided port is already allocated"), "{}", status.message);

    server.delete("services/a").await.unwrap();
    let again = spec(&server, "d", json!({"clusterIP": taken["clusterIP"], "ports": [{"port": 80}]})).await;
    assert_eq!(again["clusterIP"], taken["clusterIP"]);
}

#[tokio::test]
async fn a_new_port_gets_a_node_port_that_no_other_port_of_the_service_has() {
    let server = Server::start().await;
    let ports = |spec: &Value| -> Vec<i64> {
        spec["ports"].as_array().unwrap().iter().map(|port| port["nodePort"].as_i64().unwrap()).collect()
    };
    let first = spec(&server, "a", json!({"type": "NodePort", "ports": [{"name": "x", "port": 80}]})).await;
    let kept = ports(&first)[0];
    let more = json!([{"name": "y", "port": 81}, {"name": "x", "port": 80}, {"name": "z", "port": 82}]);
    let body = service("a", json!({"type": "NodePort", "ports": more}));
    let second = ports(&server.put("services/a", body).await.unwrap().body["spec"]);
    assert_eq!((second[1], kept), (kept, 30_000));
    assert!(second[0] != kept && second[2] != kept && second[0] != second[2], "{second:?}");

    let asked = json!([{"name": "x", "port": 80}, {"name": "y", "port": 81, "nodePort": second[2] + 1}]);
    let other = ports(&spec(&server, "b", json!({"type": "NodePort", "ports": asked})).await);
    assert_eq!(other, [second[2] + 2, second[2] + 1]);
}

#[tokio::test]
async fn concurrent_creates_get_different_addresses() {
    let server = Server::start().await;
    let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
    let posts =
        names.iter().map(|name| server.post("services", service(name, json!({"ports": [{"port": 1}]}))));
    let reply = futures_util::future::join_all(posts).await;
    let addresses: std::collections::BTreeSet<String> =
        reply.into_iter().map(|reply| reply.unwrap().body["spec"]["clusterIP"].to_string()).collect();
    assert_eq!(addresses.len(), names.len());
}

#[tokio::test]
async fn an_update_keeps_the_address_and_a_new_type_drops_it() {
    let server = Server::start().await;
    let first = spec(&server, "a", json!({"type": "LoadBalancer", "ports": [{"port": 80}]})).await;
    let body = service("a", json!({"type": "NodePort", "ports": [{"port": 81}]}));
    let second = server.put("services/a", body).await.unwrap().body["spec"].take();
    assert_eq!(second["clusterIP"], first["clusterIP"]);
    assert_eq!(second["ports"][0]["nodePort"], first["ports"][0]["nodePort"]);

    let patch = json!({"spec": {"type": "ClusterIP"}});
    let third = server.patch("services/a", PatchType::Merge, patch).await.unwrap().body["spec"].take();
    assert_eq!(third["clusterIP"], first["clusterIP"]);
    assert_eq!(
        (&third["ports"][0]["nodePort"], &third["externalTrafficPolicy"]),
        (&Value::Null, &Value::Null)
    );

    let patch = json!({"spec": {"type": "ExternalName", "externalName": "a.example"}});
    let fourth = server.patch("services/a", PatchType::Merge, patch).await.unwrap().body["spec"].take();
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        assert_eq!(fourth[name], Value::Null, "{name}");
    }
}
