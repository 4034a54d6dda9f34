//! The canonical form of stored objects (`write.W4`).

use super::*;

async fn stored_as(path: &str, body: &Value) -> Value {
    let server = Server::start().await;
    let mut stored = server.post(path, body.clone()).await.unwrap().body;
    stored["metadata"] = body["metadata"].clone();
    stored
}

/// Returns the fields of `stored` that `body` has.
fn common(body: &Value, stored: &Value) -> Value {
    match (body, stored) {
        (Value::Object(body), Value::Object(stored)) => {
            let fields =
                body.iter().filter_map(|(name, body)| Some((name.clone(), common(body, stored.get(name)?))));
            fields.collect()
        }
        (Value::Array(body), Value::Array(stored)) if body.len() == stored.len() => {
            body.iter().zip(stored).map(|(body, stored)| common(body, stored)).collect()
        }
        _ => stored.clone(),
    }
}

#[tokio::test]
async fn every_field_that_a_client_sends_is_stored() {
    let body = json!({
        "metadata": {"name": "a"},
        "spec": {
            "containers": [{
                "name": "c",
                "image": "i:1",
                "command": ["sh", "-c", "\u{e4}\n<&>\u{2028}"],
                "env": [
                    {"name": "E", "value": "v"},
                    {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 5},
                "readinessProbe": {"tcpSocket": {"port": 8080}},
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "250m"}},
                "securityContext": {"runAsUser": 0, "privileged": false},
                "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}],
            }],
            "hostNetwork": true,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "tolerations": [{"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 0}],
            "volumes": [
                {"name": "v", "emptyDir": {}},
                {"name": "w", "configMap": {"name": "m", "defaultMode": 420, "optional": false}},
                {"name": "x", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3607}}]}},
            ],
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    });
    let pod = stored_as("pods", &body).await;
    assert_eq!(common(&body, &pod), body, "fields that were not sent have defaults");

    let body = json!({
        "metadata": {"name": "a"},
        "spec": {
            "podSelector": {},
            "ingress": [{}],
            "egress": [{"ports": [{"port": 53, "protocol": "UDP", "endPort": 60}], "to": [{"namespaceSelector": {}}]}],
            "policyTypes": ["Ingress"],
        },
    });
    assert_eq!(stored_as("networkpolicies", &body).await, body);
    let body =
        json!({"metadata": {"name": "a"}, "data": {"k": "AAEC/w=="}, "type": "Opaque", "immutable": false});
    assert_eq!(stored_as("secrets", &body).await, body);
    let body = json!({"metadata": {"name": "a"}, "data": {"any": [1, 2.5, {"x": null}]}, "revision": 1});
    assert_eq!(stored_as("controllerrevisions", &body).await, body);
    let body = json!({
        "metadata": {"name": "a"},
        "spec": {"holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": "2026-11-15T10:00:00.123456Z"},
    });
    assert_eq!(stored_as("leases", &body).await, body);
}

#[tokio::test]
async fn empty_optional_fields_are_omitted() {
    let body = json!({
        "metadata": {"name": "a", "labels": {}, "creationTimestamp": null},
        "data": null, "binaryData": {},
    });
    let server = Server::start().await;
    let stored = server.post("configmaps", body).await.unwrap().body;
    assert_eq!(
        (stored.get("data"), stored.get("binaryData"), stored["metadata"].get("labels")),
        (None, None, None)
    );
}

#[tokio::test]
async fn empty_policies_are_refused_and_absent_policies_get_defaults() {
    let server = Server::start().await;
    let resource = registry::builtin().get("autoscaling", "v2", "horizontalpodautoscalers").unwrap();
    let call = Call { resource, subresource: None, namespace: Some("default"), name: None, user: user() };
    let create = async |scale_up: Value| {
        let body = json!({
            "metadata": {"name": "a"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "maxReplicas": 3,
                "behavior": {"scaleUp": scale_up},
            },
        });
        reply_of(server.writer.create(&call, body, &server.options()).await)
    };
    let status = create(json!({"policies": []})).await.unwrap_err();
    let cause = &status.details.as_ref().unwrap().causes[0];
    assert_eq!((status.code, &*cause.field), (422, "spec.behavior.scaleUp.policies"));
    assert_eq!(cause.message, "Required value: must specify at least one Policy");
    let created = create(json!({"policies": null})).await.unwrap().body;
    assert_eq!(created["spec"]["behavior"]["scaleUp"]["policies"].as_array().unwrap().len(), 2);
}

#[test]
fn every_built_in_kind_has_a_canonical_form() {
    for row in registry::builtin().iter().filter(|row| row.storage.is_some()) {
        let draft = super::super::draft::Draft::read(json!({"metadata": {"name": "a"}}), row).unwrap();
        let typed = draft.typed(row);
        let again = super::super::draft::Draft::read(typed, row).unwrap();
        assert_eq!(draft, again, "{} {}", row.group, row.name);
        let kind = row.group_version_kind();
        assert!(
            watchkeeper_wire::schema::builtin().message_of(&kind).is_some(),
            "{} {}",
            row.group,
            row.name
        );
    }
}

#[tokio::test]
async fn an_event_of_one_group_is_patched_in_the_other_without_loss() {
    let server = Server::start().await;
    let body = json!({
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"},
        "message": "m", "reason": "r", "count": 3, "type": "Normal", "source": {"component": "c"},
    });
    server.post("events", body.clone()).await.unwrap();
    let resource = registry::builtin().get("events.k8s.io", "v1", "events").unwrap();
    let call =
        Call { resource, subresource: None, namespace: Some("default"), name: Some("e"), user: user() };
    let patch = json!({"note": "n"}).to_string().into();
    let options = WriteOptions::default();
    server.writer.patch(&call, PatchType::Merge, patch, &options).await.unwrap();
    let stored = server.stored("events/e").await.unwrap();
    assert_eq!((&stored["message"], &stored["count"]), (&json!("n"), &json!(3)));
    for name in ["involvedObject", "reason", "type", "source"] {
        assert_eq!(stored[name], body[name], "{name}");
    }
}
