//! Network failures between client and server.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use watchkeeper_apiserver::server::ApiServer;
use watchkeeper_client::rest::{Request, RequestError};
use watchkeeper_client::transport::{BodyError, DEAD_AFTER};
use watchkeeper_client::{Config, RestClient};
use watchkeeper_testkit::{Direction, Fault, FaultProxy, NetworkFault, Requests, TestCluster, Verb};

use super::{core, support, with_cause};

/// Tokio's timers have a resolution of a millisecond.
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

    /// With HTTP/1.1.
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

    /// Opens a watch and receives one event.
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

/// Text that gzip cannot compress well.
fn noise(size: usize) -> String {
    let mut random = fastrand::Rng::with_seed(1);
    (0..size).map(|_| random.lowercase()).collect()
}

#[tokio::test]
async fn an_unreachable_server_is_named_and_used_again_when_it_is_back() {
    let world = World::start().await;
    world.proxy.refuse().await.unwrap();
    let error = world.list().send().await.unwrap_err();
    let expected = format!("GET {} failed: failed to connect to {}", world.path(), world.proxy.address());
    assert_eq!(with_cause(&error), expected);
    assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_connection_refused()));
    world.proxy.accept().await.unwrap();
    world.list().send().await.unwrap();
    world.stop().await;
}

#[tokio::test]
async fn a_list_interrupted_half_way_is_an_error() {
    for trouble in [NetworkFault::reset(), NetworkFault::cut()] {
        for world in [World::start().await, World::plain().await] {
            world.create("big", 400_000).await;
            world.proxy.inject_on_connect(trouble.clone().after(20_000).times(1));
            let error = world.list().send().await.unwrap_err();
            assert!(matches!(error, RequestError::Body { source: BodyError::Lost(_), .. }), "{error:?}");
            let expected = format!("GET {} failed: connection lost while reading the response", world.path());
            assert_eq!(with_cause(&error), expected);
            assert_eq!((world.proxy.counts().connections, world.proxy.counts().injected), (1, 1));
            world.list().send().await.unwrap(); // over a new connection
            assert_eq!(world.proxy.counts().connections, 2);
            world.stop().await;
        }
    }
}

#[tokio::test]
async fn a_get_is_retried_after_a_lost_connection_and_a_post_is_not() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.inject(NetworkFault::reset().after(1)); // at the first byte of any response
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);

    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    world.proxy.inject(NetworkFault::reset().after(1));
    let post = world.core.post().namespace(world.cluster.namespace()).resource("configmaps").object(&object);
    let error = post.send().await.unwrap_err();
    assert!(matches!(&error, RequestError::Transport { source, .. } if source.is_lost()), "{error:?}");
    let expected = format!("POST {} failed: connection lost before the response", world.path());
    assert_eq!(with_cause(&error), expected);
    assert!(error.may_have_happened());
    assert_eq!(world.proxy.counts().connections, 2, "not retried");
    world.stop().await;
}

/// `transport.T2` for HTTP/2. The clock is paused once nothing arrives: from then on only timers run.
#[tokio::test]
async fn a_watch_on_a_silent_connection_ends_in_time() {
    let world = World::start().await;
    let mut watch = world.watch().await;
    world.proxy.inject(NetworkFault::stall(Direction::Both));
    world.proxy.stalled(1).await;

    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let error = watch.chunk().await.unwrap_err();
    let after = started.elapsed();
    tokio::time::resume();
    assert!(matches!(error, BodyError::Lost(_)), "{error:?}");
    assert!(after <= DEAD_AFTER + TICK, "{after:?}");
    assert!(
        after >= DEAD_AFTER - Duration::from_secs(5),
        "{after:?}: too early for a slow but live connection"
    );

    // The connection is discarded and the next request opens another.
    world.proxy.client_closed(1).await;
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}

/// `transport.T2` on a half-open connection: requests arrive, responses do not.
#[tokio::test]
async fn a_request_on_a_half_open_connection_ends_in_time() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.inject(NetworkFault::stall(Direction::Responses));
    world.proxy.stalled(1).await;
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let post = world.core.post().namespace(world.cluster.namespace()).resource("configmaps");
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let error = post.object(&object).send().await.unwrap_err();
    let after = started.elapsed();
    tokio::time::resume();
    let expected = format!("POST {} failed: connection lost before the response", world.path());
    assert_eq!(with_cause(&error), expected);
    assert!(after <= DEAD_AFTER + TICK && error.may_have_happened(), "{after:?}");
    assert!(world.cluster.object("v1", "ConfigMap", "a").await.unwrap().is_some(), "it was processed");
    world.stop().await;
}

/// HTTP/1.1 has no pings: while the other end's kernel is alive, only the request's timeout applies.
#[tokio::test]
async fn a_request_on_a_silent_http1_connection_times_out() {
    let world = World::plain().await;
    world.proxy.inject_on_connect(NetworkFault::stall(Direction::Both).times(1));
    let error = world.list().timeout(Duration::from_millis(300)).send().await.unwrap_err();
    assert_eq!(error.to_string(), format!("GET {}: timed out after 0.3s", world.path()));
    world.proxy.client_closed(1).await; // transport.T5
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}

#[tokio::test]
async fn a_trickling_response_times_out() {
    for world in [World::start().await, World::plain().await] {
        world.create("big", 100_000).await;
        world.proxy.inject_on_connect(NetworkFault::trickle(16, Duration::from_millis(20)).after(10_000));
        let started = Instant::now();
        let error = world.list().timeout(Duration::from_millis(500)).send().await.unwrap_err();
        assert_eq!(error.to_string(), format!("GET {}: timed out after 0.5s", world.path()));
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        assert!(world.proxy.counts().injected == 1 && error.may_have_happened());
        world.stop().await;
    }
}

/// Only the caller's timeout limits a slow response.
#[tokio::test]
async fn a_slow_response_is_read_to_its_end() {
    let world = World::start().await;
    world.list().send().await.unwrap();
    world.proxy.inject(NetworkFault::trickle(64, Duration::from_millis(5)));
    let list: Value = world.list().send().await.unwrap().into().unwrap();
    assert_eq!(list["kind"], "ConfigMapList");
    world.stop().await;
}

#[tokio::test]
async fn a_stalled_watch_stays_open_while_its_connection_is_alive() {
    let world = World::start().await;
    let mut watch = world.watch().await;
    world.cluster.faults().stall_watches(&Requests::any());
    world.create("unseen", 10).await;
    // Real time: with a paused clock the pings would time out.
    let silent = tokio::time::timeout(Duration::from_millis(500), watch.chunk()).await;
    assert!(silent.is_err(), "{silent:?}");
    world.list().send().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 1, "other requests on the connection are not affected");
    drop(watch);
    world.stop().await;
}

#[tokio::test]
async fn opening_a_watch_is_retried() {
    let world = World::start().await;
    let cut = world.cluster.faults().add(Fault::on(Verb::Watch).answer(429).times(1));
    let watch = world.list().param("watch", "true").open_watch().await.unwrap();
    assert_eq!(cut.hits(), 1);
    drop(watch);
    world.proxy.inject(NetworkFault::reset().after(1));
    world.list().param("watch", "true").open_watch().await.unwrap();
    assert_eq!(world.proxy.counts().connections, 2);
    world.stop().await;
}
