//! The reflector with the embedded server: in process, and over the network with injected faults.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use tokio::sync::{oneshot, watch};
use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::{Backoff, ExitReason, Exited, Progress};
use watchkeeper_client::config::{Authorities, Authorization, Proxy};
use watchkeeper_client::rest::{Content, PatchKind};
use watchkeeper_client::source::RestSource;
use watchkeeper_client::{Config, RestClient, Transport};
use watchkeeper_core::{
    ListPart, ListRequest, ListStream, ListWatch, ResourceVersion, WatchFuture, WatchRequest,
};
use watchkeeper_testkit::{Fault, Requests, TestCluster, Verb};
use watchkeeper_wire::Kind;

use crate::story::{Recorder, RecordingObserver};

/// A cluster and helpers to change it.
struct World {
    cluster: TestCluster,
    core: RestClient,
}

/// A running reflector.
struct Running {
    copy: Recorder,
    observed: RecordingObserver,
    progress: watch::Receiver<Progress>,
    stop: oneshot::Sender<()>,
    run: tokio::task::JoinHandle<Exited<Recorder>>,
}

impl World {
    async fn start(content: Content) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let mut config = Config::new(cluster.url().parse().unwrap());
        config.authorization = Authorization::Token(cluster.token().into());
        config.proxy = Proxy::Direct;
        config.authorities = Authorities::Pem(cluster.ca_pem().unwrap().to_owned());
        let transport = Transport::from_config(&config).unwrap();
        let core = RestClient::for_group_version(transport, &"v1".parse().unwrap(), content);
        Self { cluster, core }
    }

    async fn create(&self, name: &str) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.cluster.create(map).await.unwrap();
    }

    async fn touch(&self, name: &str) {
        let change = json!({"data": {"changed": "yes"}});
        let patch = self.core.patch(PatchKind::Merge).namespace(self.cluster.namespace());
        patch.resource("configmaps").name(name).object(&change).send().await.unwrap();
    }

    async fn delete(&self, name: &str) {
        let delete = self.core.delete().namespace(self.cluster.namespace());
        delete.resource("configmaps").name(name).send().await.unwrap();
    }

    fn in_process(&self) -> impl ListWatch + 'static {
        self.cluster.server().source("", "v1", "configmaps", Some(self.cluster.namespace())).unwrap()
    }

    fn over_rest(&self) -> RestSource {
        RestSource::new(self.core.clone(), "configmaps", Kind::new("", "v1", "ConfigMap"))
            .namespace(self.cluster.namespace())
    }

    /// Returns the state of the server, bypassing faults.
    async fn state(&self) -> BTreeMap<String, ResourceVersion> {
        let parts: Vec<_> = self.in_process().list(ListRequest::default()).collect().await;
        let entry = |part| match part {
            Ok(ListPart::Item(object)) => {
                Some((object.metadata.key().to_string(), object.metadata.resource_version().clone()))
            }
            _ => None,
        };
        parts.into_iter().filter_map(entry).collect()
    }
}

impl Running {
    fn start(source: impl ListWatch + 'static) -> Self {
        let (copy, observed) = (Recorder::default(), RecordingObserver::default());
        let soon =
            Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(5), ..Backoff::default() };
        let reflector = Reflector::new(source, copy.clone()).observer(observed.clone()).backoff(soon);
        let progress = reflector.progress();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = tokio::spawn(reflector.run(async { drop(stopped.await) }));
        Self { copy, observed, progress, stop, run }
    }

    /// Waits until the copy equals the state of the server.
    async fn catches_up(&mut self, world: &World) {
        let state = world.state().await;
        let copy = self.copy.clone();
        let caught_up = self.progress.wait_for(|_| copy.copy() == state);
        let caught_up = tokio::time::timeout(Duration::from_secs(30), caught_up).await;
        assert!(caught_up.is_ok(), "{:?} is not {state:?}", copy.copy());
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        assert_eq!(self.run.await.unwrap().reason, ExitReason::Stopped);
    }
}

/// Ends each watch after three events, and opens none while the gate is closed.
struct Brittle<T> {
    source: T,
    gate: watch::Receiver<bool>,
}

impl<T: ListWatch> ListWatch for Brittle<T> {
    fn list(&self, request: ListRequest) -> ListStream {
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        let opening = self.source.watch(request);
        let mut gate = self.gate.clone();
        Box::pin(async move {
            gate.wait_for(|open| *open).await.unwrap();
            Ok(opening.await?.take(3).boxed())
        })
    }
}

#[tokio::test]
async fn an_in_process_copy_survives_broken_watches_and_compaction() {
    let world = World::start(Content::json()).await;
    world.create("first").await;
    let gate = watch::Sender::new(true);
    let mut running = Running::start(Brittle { source: world.in_process(), gate: gate.subscribe() });
    running.catches_up(&world).await;
    for round in 0..6 {
        let lists = running.observed.now().lists.len();
        gate.send_replace(false);
        for number in 0..4 {
            world.create(&format!("m{round}-{number}")).await; // the watch ends in between
        }
        world.touch(&format!("m{round}-0")).await;
        world.delete(&format!("m{round}-1")).await;
        world.cluster.compact().await.unwrap();
        gate.send_replace(true);
        running.catches_up(&world).await;
        assert!(running.observed.now().lists.len() > lists, "no relist in round {round}");
    }
    running.stop().await;
    world.cluster.stop().await;
}

#[tokio::test]
async fn a_remote_copy_survives_expired_versions_and_cut_connections() {
    for content in [Content::json(), Content::protobuf()] {
        let world = World::start(content).await;
        for number in 0..20 {
            world.create(&format!("m{number}")).await;
        }
        let faults = world.cluster.faults();
        let maps = |verb| Fault::on(verb).resource("configmaps");

        // First round: no initial events, and the list is cut. Second round: no initial events, the list has expired,
        // the most recent one succeeds, and the watch after it is refused.
        faults.add(maps(Verb::Watch).answer(422).times(1));
        let failing = faults.add(maps(Verb::Watch).answer(500).times(2));
        let cut = faults.add(maps(Verb::List).cut().times(1));
        let expired = faults.add(maps(Verb::List).answer(410).times(1));
        let mut running = Running::start(world.over_rest());
        failing.happened(2).await;
        assert_eq!((cut.hits(), expired.hits()), (1, 1));
        running.catches_up(&world).await;

        let which = Requests::of(Verb::Watch).resource("configmaps");
        let orders: [&dyn Fn() -> usize; 3] =
            [&|| faults.cut_watches(&which), &|| faults.expire_watches(&which), &|| {
                faults.end_watches(&which)
            }];
        for (round, order) in orders.into_iter().enumerate() {
            faults.wait_for_watches(&which, 1).await;
            assert_eq!(order(), 1);
            world.create(&format!("after-{round}")).await;
            world.touch("m1").await;
            world.delete(&format!("m{}", round + 5)).await;
            running.catches_up(&world).await;
        }

        // History is compacted while watches are refused, so that the version has expired afterwards.
        let away = faults.add(maps(Verb::Watch).answer(503));
        faults.wait_for_watches(&which, 1).await;
        faults.cut_watches(&which);
        world.delete("m2").await;
        world.create("unseen").await;
        world.cluster.compact().await.unwrap();
        away.happened(1).await;
        away.remove();
        running.catches_up(&world).await;
        running.stop().await;
        world.cluster.stop().await;
    }
}
