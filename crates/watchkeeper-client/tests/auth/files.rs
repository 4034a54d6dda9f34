//! Credentials in files, and those of somebody else.

use serde_json::json;

use crate::{World, review, who};

#[tokio::test]
async fn a_token_file_is_read_again_when_the_server_has_refused_its_token() {
    let world = World::start().await;
    world.write("token", "revoked");
    let transport = world.transport("tokenFile: token");
    assert_eq!(who(&transport).await, "401");
    assert_eq!(who(&transport).await, "401");
    world.write("token", "jane\n");
    assert_eq!(who(&transport).await, "jane");
    world.write("token", "root");
    assert_eq!(who(&transport).await, "jane", "it is good, and not old yet");
    world.stop().await;
}

#[tokio::test]
async fn a_certificate_in_files_is_read_again() {
    let world = World::start().await;
    let write = |name: &str| {
        let identity = world.authority.vouch_for_client(name, &[]).unwrap();
        world.write("c.crt", identity.certificate);
        world.write("c.key", identity.key);
    };
    write("ann");
    let transport = world.transport("client-certificate: c.crt, client-key: c.key");
    assert_eq!(who(&transport).await, "ann");
    assert_eq!(who(&transport).await, "ann"); // certificates were looked at just now
    write("bob");
    assert_eq!(who(&transport).await, "ann");
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(10)).await;
    tokio::time::resume();
    assert_eq!(who(&transport).await, "bob");
    world.stop().await;
}

#[tokio::test]
async fn one_can_act_as_somebody_else() {
    let world = World::start().await;
    let as_her = ", as: her, as-uid: '7', as-groups: [g], as-user-extra: {acme.com/scope: [a]}";
    let her = review(&world.transport(&format!("token: root{as_her}"))).await.unwrap().unwrap();
    let expected = json!({"username": "her", "uid": "7", "groups": ["g", "system:authenticated"],
        "extra": {"acme.com/scope": ["a"]}});
    assert_eq!(her, expected);
    assert_eq!(who(&world.transport("token: root")).await, "root");
    world.stop().await;
}

#[tokio::test]
async fn who_is_anonymous_has_nothing_of_ours() {
    let world = World::start().await;
    let identity = world.authority.vouch_for_client("ann", &[]).unwrap();
    world.write("c.crt", identity.certificate);
    world.write("c.key", identity.key);
    for user in ["client-certificate: c.crt, client-key: c.key", "token: root, as: her", "tokenFile: token"] {
        world.write("token", "jane");
        let ours = world.transport(user);
        assert_ne!(who(&ours).await, "401", "{user}");
        assert_eq!(who(&ours.anonymous().unwrap()).await, "401", "{user}");
    }
    world.stop().await;
}
