//! Admission over HTTP, with a plugin of the server's user.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use watchkeeper_apiserver::admission::{AdmissionFuture, AdmissionPlugin, AdmissionRequest, Operation};
use watchkeeper_apiserver::server::ApiServer;

use world::World;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Labels new objects with their creator, and refuses to delete or connect to objects called `kept`.
struct Owners;

impl AdmissionPlugin for Owners {
    fn name(&self) -> &str {
        "Owners"
    }

    fn mutate<'a>(&'a self, request: &'a mut AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        let owner = request.user.name.clone();
        if let (Operation::Create, Some(object)) = (request.operation, request.object.as_deref_mut()) {
            object.fields_mut()["metadata"]["labels"] = json!({"owner": owner});
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest<'_>) -> AdmissionFuture<'a> {
        let is_refused = matches!(request.operation, Operation::Delete | Operation::Connect)
            && request.display_name() == "kept";
        let outcome = if is_refused { Err(request.forbid("it is kept")) } else { Ok(()) };
        Box::pin(std::future::ready(outcome))
    }
}

async fn ask(world: &World, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let headers = [("content-type", "application/json")];
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let (head, body) = world.send(method, path, &headers, text).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status.as_u16(), serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_plugin_of_the_builder_completes_and_refuses_requests() {
    let server = ApiServer::builder().plain_http().token("t").admission(Owners);
    let world = World { server: server.start().await.unwrap() };
    let (code, created) = ask(&world, "POST", MAPS, &json!({"metadata": {"name": "kept"}})).await;
    assert_eq!((code, &created["metadata"]["labels"]["owner"]), (201, &json!("kubernetes-admin")));
    let (code, refused) = ask(&world, "DELETE", &format!("{MAPS}/kept"), &Value::Null).await;
    let message = "configmaps \"kept\" is forbidden: it is kept";
    assert_eq!((code, &refused["message"]), (403, &json!(message)));
    assert_eq!(ask(&world, "GET", &format!("{MAPS}/kept"), &Value::Null).await.0, 200);
    let exec = "/api/v1/namespaces/default/pods/kept/exec?command=ls&stdout=true";
    let (code, refused) = ask(&world, "POST", exec, &Value::Null).await;
    let message = "pods \"kept\" is forbidden: it is kept";
    assert_eq!((code, &refused["message"]), (403, &json!(message)));
}

#[tokio::test]
async fn without_the_plugin_the_same_requests_succeed() {
    let world = World::start().await;
    let (code, created) = ask(&world, "POST", MAPS, &json!({"metadata": {"name": "kept"}})).await;
    assert_eq!((code, &created["metadata"]["labels"]), (201, &Value::Null));
    assert_eq!(ask(&world, "DELETE", &format!("{MAPS}/kept"), &Value::Null).await.0, 200);
}
