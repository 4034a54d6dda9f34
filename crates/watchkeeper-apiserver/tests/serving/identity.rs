//! The user of a request: service account tokens and impersonation.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::world::World;

const ROBOT: &str = "system:serviceaccount:default:robot";

#[tokio::test]
async fn a_service_account_authenticates_with_its_token() {
    let world = World::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (_, account) = world.write("POST", accounts, json!({"metadata": {"name": "robot"}})).await;
    let (code, given) = world.write("POST", &format!("{accounts}/robot/token"), json!({"spec": {}})).await;
    assert_eq!((code, &given["metadata"]["uid"]), (201, &account["metadata"]["uid"]));
    let token = given["status"]["token"].as_str().unwrap();

    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = async |token: &str, audiences: &[&str]| {
        let body = json!({"spec": {"token": token, "audiences": audiences}});
        world.write("POST", reviews, body).await.1["status"].take()
    };
    let status = review(token, &[]).await;
    assert_eq!((&status["authenticated"], &status["user"]["username"]), (&json!(true), &ROBOT.into()));
    assert_eq!(review("t", &[]).await["user"]["username"], "kubernetes-admin");
    for status in [review("bogus", &[]).await, review(token, &["others"]).await] {
        assert_eq!(status, json!({"user": {}, "error": "invalid bearer token"}));
    }

    let io = TokioIo::new(TcpStream::connect(world.server.address()).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("host", "k")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json");
    let answer = sender.send_request(request.body(Full::new(Bytes::from("{}"))).unwrap()).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["status"]["userInfo"]["username"], ROBOT);
}

#[tokio::test]
async fn a_request_can_impersonate_another_user() {
    let world = World::start().await;
    let review = async |headers: &[(&str, &str)]| {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let headers = [&[("content-type", "application/json")], headers].concat();
        let answer = world.send("POST", path, &headers, "{}".to_owned()).await;
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&body).unwrap()
    };
    assert_eq!(review(&[]).await["status"]["userInfo"]["username"], "kubernetes-admin");
    let shown = review(&[("impersonate-user", "ann"), ("impersonate-group", "ops")]).await;
    assert_eq!(
        shown["status"]["userInfo"],
        json!({"username": "ann", "groups": ["ops", "system:authenticated"]})
    );
    assert_eq!(review(&[("impersonate-group", "ops")]).await["code"], 400);
}
