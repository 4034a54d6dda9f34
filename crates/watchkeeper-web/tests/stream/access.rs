//! Streams belong to the user that opened them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use watchkeeper_web::listen::Options;
use watchkeeper_web::stream::{Limits, REAUTHORIZE_EVERY};

use crate::reader::{PATIENCE, Reader, View};
use crate::world::{World, escaped, maps};

const NOTHING: &str = r#"{"subscriptions":[]}"#;

impl World {
    /// Creates a world that requires tokens.
    async fn guarded() -> Self {
        Self::of(Limits::default(), Options::default().require_tokens(true)).await
    }

    /// Creates a service account and returns its token.
    async fn account(&self, name: &str) -> String {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
        self.cluster.create(account).await.unwrap();
        let accounts =
            self.client.dynamic(&"v1".parse().unwrap(), "serviceaccounts").namespace(self.namespace());
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let issued: Value =
            accounts.create_subresource(name, "token", &request, &Default::default()).await.unwrap();
        bearer(issued["status"]["token"].as_str().unwrap())
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[tokio::test]
async fn streams_of_other_users_do_not_exist() {
    let world = World::guarded().await;
    let (admin, other) = (bearer(world.cluster.token()), world.account("other").await);
    let (status, _) = Reader::ask(world.address, "", "").await.err().unwrap();
    assert_eq!(status, 401);
    let reader = Reader::ask(world.address, "", &admin).await.unwrap();
    let (status, answer) = world.put_with(&reader.stream, NOTHING, &other).await;
    assert_eq!((status, &answer["code"]), (404, &40000.into()));
    assert_eq!(world.put_with(&reader.stream, NOTHING, &admin).await.0, 200);

    let last = format!("Last-Event-ID: {}\r\n", reader.id());
    let theirs = Reader::ask(world.address, "", &format!("{other}{last}")).await.unwrap();
    assert!(!theirs.resumed && theirs.stream != reader.stream, "another user gets another stream");
    let again = Reader::ask(world.address, "", &format!("{admin}{last}")).await.unwrap();
    assert!(again.resumed && again.stream == reader.stream);
    world.stop().await;
}

#[tokio::test]
async fn streams_end_when_their_token_becomes_invalid() {
    let world = World::guarded().await;
    let gone = world.account("gone").await;
    let query = format!("?sub={}", escaped(&maps(&world, "a", "").to_string()));
    let mut reader = Reader::ask(world.address, &query, &gone).await.unwrap();
    let mut view = View::default();
    reader.until("synced", &mut view).await;
    let accounts =
        world.client.dynamic(&"v1".parse().unwrap(), "serviceaccounts").namespace(world.namespace());
    accounts.delete("gone", &Default::default()).await.unwrap();
    world.create("one", "web").await;
    reader.until_seen(&mut view, |view| view.keys("a").len() == 1).await;
    tokio::time::pause();
    tokio::time::advance(REAUTHORIZE_EVERY + Duration::from_secs(1)).await;
    tokio::time::resume();
    world.create("two", "web").await;
    while let Some(event) = reader.event().await {
        view.see(&event);
    }
    let (status, _) = Reader::ask(world.address, "", &gone).await.err().unwrap();
    assert_eq!(status, 401);
    world.stop().await;
}

#[tokio::test]
async fn revoked_permissions_fail_the_subscription() {
    let (world, judge) = World::judged(Options::default().require_tokens(true)).await;
    let (visitor, admin) = (world.account("visitor").await, bearer(world.cluster.token()));
    let accounts = json!({"id": "accounts", "resource": "serviceaccounts", "group": "core", "version": "v1",
        "namespace": world.namespace()});
    let [maps, accounts] = [maps(&world, "maps", ""), accounts].map(|sub| escaped(&sub.to_string()));
    let mut reader =
        Reader::ask(world.address, &format!("?sub={maps}&sub={accounts}"), &visitor).await.unwrap();
    let mut others = Reader::ask(world.address, &format!("?sub={maps}"), &admin).await.unwrap();
    let (mut view, mut seen) = (View::default(), View::default());
    reader.until_seen(&mut view, |view| view.synced.len() == 2).await;
    others.until("synced", &mut seen).await;

    // Decisions are cached (access.A2).
    judge.withdraw(":visitor", "configmaps");
    world.create("one", "web").await;
    reader.until_seen(&mut view, |view| view.keys("maps").len() == 1).await;
    tokio::time::pause();
    tokio::time::advance(REAUTHORIZE_EVERY + Duration::from_secs(1)).await;
    tokio::time::resume();
    world.create("two", "web").await;
    let denied = reader.until_seen(&mut view, |view| !view.failed.is_empty());
    timeout(PATIENCE, denied).await.expect("the denial is not reported");
    let (status, message) = &view.failed["maps"];
    let expected = format!(
        "configmaps is forbidden: User \"system:serviceaccount:{0}:visitor\" cannot watch resource \"configmaps\" \
         in API group \"\" in the namespace \"{0}\"",
        world.namespace()
    );
    assert_eq!((*status, message), (403, &expected));

    // Other users and other subscriptions are not affected.
    world.create("three", "web").await;
    others.until_seen(&mut seen, |seen| seen.keys("maps").len() == 3).await;
    let known = view.keys("accounts").len();
    world.account("late").await;
    reader.until_seen(&mut view, |view| view.keys("accounts").len() > known).await;
    assert!(!view.keys("maps").contains(&world.key("three").as_str()), "{view:?}");
    assert_eq!(view.failed.len(), 1, "{view:?}");

    // Subscribing again is denied too.
    let mut again = Reader::ask(world.address, &format!("?sub={maps}"), &visitor).await.unwrap();
    let mut view = View::default();
    again.until("failed", &mut view).await;
    assert_eq!(view.failed["maps"], (403, expected));
    world.stop().await;
    judge.stop().await;
}
