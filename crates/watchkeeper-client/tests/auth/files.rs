//! Credentials in files, impersonation, and anonymous requests.

use serde_json::json;

use crate::{World, review, username};

#[tokio::test]
async fn a_token_file_is_reread_after_its_token_is_rejected() {
    let world = World::start().await;
    world.write("token", "revoked");
    let transport = world.transport("tokenFile: token");
    assert_eq!(username(&transport).await, "401");
    assert_eq!(username(&transport).await, "401");
    world.write("token", "jane\n");
    assert_eq!(username(&transport).await, "jane");
    world.write("token", "root");
    assert_eq!(username(&transport).await, "jane", "valid, and not due for rereading");
    world.stop().await;
}

#[tokio::test]
async fn certificate_files_are_reread() {
    let world = World::start().await;
    let write = |name: &str| {
        let identity = world.authority.sign_client(name, &[]).unwrap();
        world.write("c.crt", identity.certificate);
        world.write("c.key", identity.key);
    };
    write("ann");
    let transport = world.transport("client-certificate: c.crt, client-key: c.key");
    assert_eq!(username(&transport).await, "ann");
    assert_eq!(username(&transport).await, "ann"); // the files were checked a moment ago
    write("bob");
    assert_eq!(username(&transport).await, "ann");
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    tokio::time::resume();
    assert_eq!(username(&transport).await, "bob");
    world.stop().await;
}

#[tokio::test]
async fn impersonation_headers_reach_the_server() {
    let world = World::start().await;
    let as_her = ", as: her, as-uid: '7', as-groups: [g], as-user-extra: {acme.com/scope: [a]}";
    let her = review(&world.transport(&format!("token: root{as_her}"))).await.unwrap().unwrap();
    let expected = json!({"username": "her", "uid": "7", "groups": ["g", "system:authenticated"],
        "extra": {"acme.com/scope": ["a"]}});
    assert_eq!(her, expected);
    assert_eq!(username(&world.transport("token: root")).await, "root");
    world.stop().await;
}

#[tokio::test]
async fn an_anonymous_transport_sends_no_credentials() {
    let world = World::start().await;
    let identity = world.authority.sign_client("ann", &[]).unwrap();
    world.write("c.crt", identity.certificate);
    world.write("c.key", identity.key);
    for user in ["client-certificate: c.crt, client-key: c.key", "token: root, as: her", "tokenFile: token"] {
        world.write("token", "jane");
        let ours = world.transport(user);
        assert_ne!(username(&ours).await, "401", "{user}");
        assert_eq!(username(&ours.anonymous().unwrap()).await, "401", "{user}");
    }
    world.stop().await;
}
