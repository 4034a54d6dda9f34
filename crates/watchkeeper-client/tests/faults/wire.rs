//! What breaks between the client and the server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::rest::{Request, RequestError};
use watchkeeper_client::transport::{BodyError, DEAD_AFTER};
use watchkeeper_client::{Config, RestClient};
use watchkeeper_testkit::{Fault, FaultProxy, Requests, TestCluster, Trouble, Verb, Way};

use super::{core, support};

/// Each of tokio's timers may be late by a millisecond.
const TICK: Duration = Duration::from_millis(10);

struct World {
    cluster: TestCluster,
    proxy: FaultProxy,
    core: RestClient,
}

impl World {
    async fn start() -> Self {
        Self::of(TestCluster::start().await.unwrap()).await
    }

    /// Of HTTP/1.1.
    async fn plain() -> Self {
        Self::of(TestCluster::of(ApiServer::builder().plain_http()).await.unwrap()).await
    }

    async fn of(cluster: TestCluster) -> Self {
        let proxy = FaultProxy::start(cluster.server().address()).await.unwrap();
        let core = core(&config(&cluster, &proxy));
        Self { cluster, proxy, core }
    }

    fn list(&self) -> Request {
        self.core.get().namespace(self.cluster.namespace()).resource("configmaps")
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.cluster.namespace())
    }

    async fn create(&self, name: &str, size: usize) {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"text": noise(size)}});
        self.cluster.create(object).await.unwrap();
    }

    /// A watch that has told of one object.
    async fn watch(&self) -> watchkeeper_client::transport::Body {
        self.create("seen", 10).await;
        let watch = self.list().param("watch", "true").open_watch().await.unwrap();
        let mut body = watch.into_body();
        let event = body.chunk().await.unwrap().unwrap();
        assert!(event.starts_with(b"{\"type\":\"ADDED\""));
        body
    }

    async fn stop(self) {
        self.proxy.stop().await;
        self.cluster.stop().await;
    }
}

fn config(cluster: &TestCluster, proxy: &FaultProxy) -> Config {
    let mut config = support::config(cluster.server());
    config.server = proxy.url(cluster.url()).parse().unwrap();
    config.plain_credentials = true;
    config
}

/// A text that gzip does not make much smaller.
fn noise(size: usize) -> String {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..size).map(|_| next()).collect()
}

#[tokio::test]
async fn a_server_that_is_away_is_named_and_found_again_when_it_is_back() {
    let world = World::start().await;
    world.proxy.refuse().await.unwrap();
    let error = world.list().send().await.unwrap_err();
    let expected = format!("GET {}: failed to connect to {}", world.path(), world.proxy.address());
    assert_eq!(error.to_string(), expected);
    assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_refused()));
    world.proxy.accept().await.unwrap();
    world.list().send().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn a_list_whose_connection_is_reset_half_way_has_failed_and_says_so() {
    for trouble in [Trouble::reset(), Trouble::cut()] {
        for world in [World::start().await, World::plain().await] {
            world.create("big", 400_000).await;
            world.proxy.to_come(trouble.clone().after(20_000).times(1));
            let error = world.list().send().await.unwrap_err();
            assert!(matches!(error, RequestError::Body { source: BodyError::Lost(_), .. }), "{error:?}");
            let expected = format!("GET {}: connection lost while reading the response", world.path());
            assert_eq!(error.to_string(), expected);
            assert_eq!((world.proxy.counts().connections, world.proxy.counts().struck), (1, 1));
            world.list().send().await.unwrap(); // over a new connection
            assert_eq!(world.proxy.counts().connections, 2);
            world.stop().await;
        }
    }
}

#[tokio::test]
async fn a_get_whose_connection_is_lost_before_the_answer_is_tried_again_and_a_post_is_not() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.now(Trouble::reset().after(1)); // the first byte of any answer
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);

    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    world.proxy.now(Trouble::reset().after(1));
    let post = world.core.post().namespace(world.cluster.namespace()).resource("configmaps").object(&object);
    let error = post.send().await.unwrap_err();
    assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_lost()), "{error:?}");
    let expected = format!("POST {}: connection lost before the response", world.path());
    assert_eq!(error.to_string(), expected);
    assert!(error.may_have_happened());
    assert_eq!(world.proxy.counts().connections, 2, "nobody has tried again");
    world.stop().await;
}

/// T2, of HTTP/2. From the moment on in which nothing comes any more the clock is ours: what happens then is
/// the work of timers alone.
#[tokio::test]
async fn a_watch_whose_connection_is_silently_dead_ends_within_its_time() {
    let world = World::start().await;
    let mut watch = world.watch().await;
    world.proxy.now(Trouble::stall(Way::Both));
    world.proxy.stalled(1).await;

    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let error = watch.chunk().await.unwrap_err();
    let after = begun.elapsed();
    tokio::time::resume();
    assert!(matches!(error, BodyError::Lost(_)), "{error:?}");
    assert!(after <= DEAD_AFTER + TICK, "{after:?}");
    assert!(after >= DEAD_AFTER - Duration::from_secs(5), "{after:?}: a live one must have time to say so");

    // The connection is given up: what comes next has another.
    world.proxy.hung_up(1).await;
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}

/// T2: half of the connection is dead. What we say arrives, and no answer ever does.
#[tokio::test]
async fn a_request_on_a_half_open_connection_ends_within_its_time_too() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.now(Trouble::stall(Way::Answers));
    world.proxy.stalled(1).await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let post = world.core.post().namespace(world.cluster.namespace()).resource("configmaps");
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let error = post.object(&object).send().await.unwrap_err();
    let after = begun.elapsed();
    tokio::time::resume();
    let expected = format!("POST {}: connection lost before the response", world.path());
    assert_eq!(error.to_string(), expected);
    assert!(after <= DEAD_AFTER + TICK && error.may_have_happened(), "{after:?}");
    assert!(world.cluster.object("v1", "ConfigMap", "a").await.unwrap().is_some(), "and it has");
    world.stop().await;
}

/// HTTP/1.1 has no pings. Where the other end still has its power and only says nothing, it is the time
/// limit of the request that counts.
#[tokio::test]
async fn a_silent_http1_connection_is_left_when_the_time_of_the_request_is_up() {
    let world = World::plain().await;
    world.proxy.to_come(Trouble::stall(Way::Both).times(1));
    let error = world.list().timeout(Duration::from_millis(300)).send().await.unwrap_err();
    assert_eq!(error.to_string(), format!("GET {}: timed out after 0.3s", world.path()));
    world.proxy.hung_up(1).await; // T5
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}

#[tokio::test]
async fn an_answer_that_trickles_ends_when_the_time_of_the_request_is_up() {
    for world in [World::start().await, World::plain().await] {
        world.create("big", 100_000).await;
        world.proxy.to_come(Trouble::trickle(16, Duration::from_millis(20)).after(10_000));
        let begun = Instant::now();
        let error = world.list().timeout(Duration::from_millis(500)).send().await.unwrap_err();
        assert_eq!(error.to_string(), format!("GET {}: timed out after 0.5s", world.path()));
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert!(world.proxy.counts().struck == 1 && error.may_have_happened());
        world.stop().await;
    }
}

/// A server that is slow, but comes to an end, is waited for: nothing but the caller's limit counts.
#[tokio::test]
async fn an_answer_that_trickles_and_comes_whole_is_an_answer() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.now(Trouble::trickle(64, Duration::from_millis(5)));
    let list: Value = world.list().send().await.unwrap().into().unwrap();
    assert_eq!(list["kind"], "ConfigMapList");
    world.stop().await;
}

#[tokio::test]
async fn a_watch_that_the_server_stalls_is_alive_as_long_as_its_connection_is() {
    let world = World::start().await;
    let mut watch = world.watch().await;
    world.cluster.faults().stall_watches(&Requests::any());
    world.create("unseen", 10).await;
    // The connection answers pings: a paused clock would take them for lost, so this is in real time.
    let silent = tokio::time::timeout(Duration::from_millis(500), watch.chunk()).await;
    assert!(silent.is_err(), "{silent:?}");
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 1, "the others on the connection do not suffer");
    drop(watch);
    world.stop().await;
}

#[tokio::test]
async fn a_watch_that_cannot_be_opened_is_tried_again() {
    let world = World::start().await;
    let cut = world.cluster.faults().add(Fault::on(Verb::Watch).answer(429).times(1));
    let watch = world.list().param("watch", "true").open_watch().await.unwrap();
    assert_eq!(cut.hits(), 1);
    drop(watch);
    world.proxy.now(Trouble::reset().after(1));
    world.list().param("watch", "true").open_watch().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}
