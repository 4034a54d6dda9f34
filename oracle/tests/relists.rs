//! Caches of real clients that are made to list again and again: 10,000 objects, a writer that does not
//! rest, and every way in which a list or a watch can go wrong. In the end each cache is what the server
//! has, object by object and version by version.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use watchkeeper_apiserver::faults::FaultHandle;
use watchkeeper_apiserver::store::{
    CollectionId, Precondition, RangeQuery, Revision, Store, Unversioned, WriteError,
};
use watchkeeper_oracle::Binaries;
use watchkeeper_testkit::{Fault, Requests, TestCluster, Verb};

const OBJECTS: u64 = 10_000;
/// Names that the writer writes: some of them are not there at the beginning.
const NAMES: u64 = 12_000;
/// The object that is written when nothing else is any more; the last in the order of names.
const LAST: &str = "zzz";
/// The object that shows that a client follows.
const MARKER: &str = "marker";
/// Events of the whole state after which it breaks off.
const MIDWAY: u64 = 3000;

/// A client that does not recover is waited for no longer.
const LIMIT: Duration = Duration::from_secs(180);

fn config_maps() -> CollectionId {
    "configmaps".into()
}

fn config_map(namespace: &str, name: &str, turn: u64) -> Unversioned {
    let text = "some text that makes it as large as small ones are in life ".repeat(3);
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{name}","labels":{{"app":"web"}}}},"data":{{"turn":"{turn}","text":"{text}"}}}}"#
    );
    Unversioned::from_json(body.as_bytes()).unwrap()
}

/// Names and versions.
type Held = BTreeMap<String, String>;

/// A cluster with its objects, and a writer.
struct World {
    cluster: TestCluster,
    stop: CancellationToken,
    writer: JoinHandle<u64>,
}

impl World {
    async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let (store, namespace) = (cluster.server().store().clone(), cluster.namespace().to_owned());
        for number in 0..OBJECTS {
            let value = config_map(&namespace, &name(number), 0);
            store.put(&config_maps(), value, Precondition::Absent).await.unwrap();
        }
        let stop = CancellationToken::new();
        let writer = tokio::spawn({
            let stop = stop.clone();
            async move {
                let mut turn = 0;
                stop.run_until_cancelled(write(&*store, &namespace, &mut turn)).await;
                turn
            }
        });
        Self { cluster, stop, writer }
    }

    fn fault(&self, fault: Fault) -> FaultHandle {
        self.cluster.faults().add(fault)
    }

    /// Adds rules of one use each, and returns when all have happened.
    async fn suffer<const N: usize>(&self, faults: [Fault; N]) {
        let rules = faults.map(|fault| self.fault(fault.times(1)));
        self.provoke(&rules[0]).await;
        for rule in rules {
            rule.happened(1).await;
            assert_eq!(rule.hits(), 1);
            rule.remove();
        }
    }

    /// Ends what is open until a rule for watches has happened. Whoever is just opening a watch can escape
    /// both the rule and the end: then once more.
    async fn provoke(&self, rule: &FaultHandle) {
        loop {
            self.cluster.faults().end_watches(&Requests::any());
            if timeout(Duration::from_secs(1), rule.happened(1)).await.is_ok() {
                return;
            }
        }
    }

    /// Compacts while a client that follows sees nothing: what it goes on from is forgotten.
    async fn forget(&self) {
        self.suffer([Fault::on(Verb::Watch).stall()]).await;
        let store = self.cluster.server().store();
        let now = store.current().await.unwrap();
        // The writer goes on, for more than the second within which client-go takes an end for a failure.
        store.wait_for(Revision::new(now.get() + 3000)).await.unwrap();
        self.cluster.compact().await.unwrap();
        let reopened = self.fault(Fault::on(Verb::Watch).delay(Duration::ZERO).times(1));
        self.cluster.faults().end_watches(&Requests::any());
        reopened.happened(1).await;
        reopened.remove();
    }

    /// Writes an object that is not there yet, and returns its version: who holds it follows.
    async fn mark(&self, name: &str) -> String {
        let marker = config_map(self.cluster.namespace(), name, 0);
        let stored = self.cluster.server().store().put(&config_maps(), marker, Precondition::Absent).await;
        stored.unwrap().modified().to_string()
    }

    /// Ends the writing. Returns the version of the last object, and what there is.
    async fn rest(&mut self) -> (String, Held) {
        self.stop.cancel();
        let writes = (&mut self.writer).await.unwrap();
        assert!(writes > 1000, "only {writes} writes");
        let store = self.cluster.server().store();
        let last = self.mark(LAST).await;
        let range = store.range(RangeQuery::all(config_maps())).await.unwrap();
        let held = range.items.iter().map(|it| (it.key().name().to_owned(), it.modified().to_string()));
        (last, held.collect())
    }
}

fn name(number: u64) -> String {
    format!("m{number:05}")
}

/// Creates, updates and deletes, for ever, up to 2,000 times a second.
async fn write(store: &dyn Store, namespace: &str, turn: &mut u64) {
    let mut random: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut ticks = interval(Duration::from_millis(5));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for _ in 0..10 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            *turn += 1;
            let value = config_map(namespace, &name(random % NAMES), *turn);
            let outcome = match (random >> 32) % 4 {
                0 => store.delete(&config_maps(), value.key(), None).await,
                _ => store.put(&config_maps(), value, Precondition::Any).await,
            };
            match outcome {
                Ok(_) | Err(WriteError::Conflict { .. }) => {} // there was nothing to delete
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn assert_same(cache: &Held, server: &Held) {
    assert!(server.len() > 5000, "{} objects are too few to mean anything", server.len());
    let wrong: Vec<_> = server.iter().filter(|(name, version)| cache.get(*name) != Some(version)).collect();
    let extra: Vec<_> = cache.keys().filter(|name| !server.contains_key(*name)).collect();
    assert!(wrong.is_empty() && extra.is_empty(), "missing or old: {wrong:?}, gone: {extra:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_go_informer_holds_what_the_server_has_after_relists() {
    timeout(LIMIT, client_go()).await.unwrap();
}

async fn client_go() {
    let mut world = World::start().await;
    let cluster = &world.cluster;
    // The first state breaks off, so that it falls back to a list, which is told to come back.
    let cut = world.fault(Fault::on(Verb::Watch).cut().after_events(MIDWAY).times(1));
    let busy = world.fault(Fault::on(Verb::List).answer(429).times(1));
    let mut program = Command::new(Binaries::get().unwrap().path("cache"))
        .arg(format!("--kubeconfig={}", cluster.kubeconfig_path().display()))
        .arg(format!("--namespace={}", cluster.namespace()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("synced"));
    assert_eq!((cut.hits(), busy.hits()), (1, 1));

    world.suffer([Fault::on(Verb::Watch).expire()]).await;
    world.suffer([Fault::on(Verb::Watch).answer(410)]).await;
    // The whole state comes by a watch; that fails, and so does the list in its place.
    let (no_watch, no_list) = (Fault::on(Verb::Watch).answer(500), Fault::on(Verb::List).answer(500));
    let (no_watch, no_list) = (world.fault(no_watch), world.fault(no_list.times(1)));
    world.provoke(&no_watch).await;
    no_list.happened(1).await;
    no_watch.remove();

    // Last, so that nothing mends what this breaks.
    let mut orders = program.stdin.take().unwrap();
    let marked = world.mark(MARKER).await;
    orders.write_all(format!("{MARKER} {marked} 0\n").as_bytes()).await.unwrap();
    while !lines.next_line().await.unwrap().unwrap().starts_with("end ") {}
    world.forget().await;

    let (version, server) = world.rest().await;
    orders.write_all(format!("{LAST} {version} {}\n", server.len()).as_bytes()).await.unwrap();
    let mut cache = Held::new();
    let end = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if line.starts_with("end ") {
            break line;
        }
        let (key, version) = line.split_once(' ').unwrap();
        let (namespace, name) = key.split_once('/').unwrap();
        assert_eq!(namespace, world.cluster.namespace());
        cache.insert(name.to_owned(), version.to_owned());
    };
    assert_same(&cache, &server);
    // At the beginning, and after both forms of 410, a failure and a compaction; and the lists that were
    // told to come back, succeeded, and failed.
    let sent: Vec<u64> = end.split(['=', ' ']).filter_map(|word| word.parse().ok()).collect();
    assert!(sent[0] >= 3 && sent[1] >= 5, "it has not relisted: {end}");
    drop(orders);
    assert!(program.wait().await.unwrap().success());
    world.cluster.stop().await;
}

/// A reflector of kube-rs, which ends when it holds the last object.
struct Reflecting {
    reader: reflector::Store<ConfigMap>,
    /// ChangeType of every event, once it can be read.
    changed: Arc<Notify>,
    last: watch::Sender<Option<String>>,
    task: JoinHandle<Reflected>,
}

struct Reflected {
    cache: Held,
    /// How often it has begun with the whole state.
    begun: usize,
}

impl Reflecting {
    async fn start(cluster: &TestCluster, config: watcher::Config) -> Self {
        let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
        let settings = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        assert_eq!(settings.default_namespace, cluster.namespace());
        let client = kube::Client::try_from(settings).unwrap();
        let api: kube::Api<ConfigMap> = kube::Api::default_namespaced(client);
        let (last, told) = watch::channel(None);
        let place = ObjectRef::new(LAST).within(cluster.namespace());
        let (reader, writer) = reflector::store();
        let changed = Arc::new(Notify::new());
        let task = tokio::spawn(reflect(api, config, (reader.clone(), writer), changed.clone(), place, told));
        Self { reader, changed, last, task }
    }

    /// Returns once it follows.
    async fn caught_up(&self, world: &World) {
        let marked = world.mark(MARKER).await;
        let place = ObjectRef::new(MARKER).within(world.cluster.namespace());
        loop {
            let changed = self.changed.notified();
            if self.reader.get(&place).and_then(|it| it.resource_version()).as_ref() == Some(&marked) {
                return;
            }
            changed.await;
        }
    }

    async fn end(self, version: String) -> Reflected {
        self.last.send(Some(version)).unwrap();
        self.task.await.unwrap()
    }
}

async fn reflect(
    api: kube::Api<ConfigMap>,
    config: watcher::Config,
    (reader, mut writer): (reflector::Store<ConfigMap>, reflector::store::Writer<ConfigMap>),
    changed: Arc<Notify>,
    place: ObjectRef<ConfigMap>,
    mut last: watch::Receiver<Option<String>>,
) -> Reflected {
    let mut events = watcher::watcher(api, config).boxed();
    let mut begun = 0;
    loop {
        tokio::select! {
            // After an error it goes on by itself.
            event = events.next() => if let Ok(event) = event.unwrap() {
                begun += usize::from(matches!(event, watcher::Event::Init));
                writer.apply_watcher_event(&event);
                changed.notify_waiters();
            },
            Ok(()) = last.changed() => {}
        }
        let held = reader.get(&place).and_then(|it| it.resource_version());
        if held.is_some() && held == *last.borrow() {
            let held = reader.state();
            let held = held.iter().map(|it| (it.name_any(), it.resource_version().unwrap_or_default()));
            return Reflected { cache: held.collect(), begun };
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kube_reflector_that_lists_pages_holds_what_the_server_has_after_relists() {
    timeout(LIMIT, kube_with_pages()).await.unwrap();
}

async fn kube_with_pages() {
    let mut world = World::start().await;
    let cut = world.fault(Fault::on(Verb::List).cut().every(3).times(1));
    let busy = world.fault(Fault::on(Verb::List).answer(429).times(1));
    let config = watcher::Config::default().page_size(500).timeout(1);
    let reflecting = Reflecting::start(&world.cluster, config).await;
    reflecting.reader.wait_until_ready().await.unwrap();
    assert_eq!((cut.hits(), busy.hits()), (1, 1));

    world.suffer([Fault::on(Verb::Watch).expire(), Fault::on(Verb::List).answer(500)]).await;
    world.suffer([Fault::on(Verb::Watch).answer(410)]).await; // as a status it is not believed, and tried again
    // The history goes while a list is half read.
    let waiting = world.fault(Fault::on(Verb::List).delay(Duration::from_millis(300)).every(5).times(1));
    world.suffer([Fault::on(Verb::Watch).expire()]).await;
    waiting.happened(1).await;
    world.cluster.compact().await.unwrap();
    // And once it stalls until the client gives it up.
    world.suffer([Fault::on(Verb::Watch).stall()]).await;
    let reopened = world.fault(Fault::on(Verb::Watch).delay(Duration::ZERO).times(1));
    reopened.happened(1).await;
    reflecting.caught_up(&world).await;
    world.forget().await; // last, so that nothing mends what this breaks

    let (version, server) = world.rest().await;
    let reflected = reflecting.end(version).await;
    assert_same(&reflected.cache, &server);
    // At the beginning, after a list that broke off, an expiry, a failure, another expiry, a token that has
    // expired, and a compaction.
    assert!(reflected.begun >= 7, "it has begun {} times", reflected.begun);
    world.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kube_reflector_that_streams_lists_holds_what_the_server_has_after_relists() {
    timeout(LIMIT, kube_with_streams()).await.unwrap();
}

async fn kube_with_streams() {
    let mut world = World::start().await;
    let cut = world.fault(Fault::on(Verb::Watch).cut().after_events(MIDWAY).times(1));
    let config = watcher::Config::default().streaming_lists().timeout(1);
    let reflecting = Reflecting::start(&world.cluster, config).await;
    reflecting.reader.wait_until_ready().await.unwrap();
    assert_eq!(cut.hits(), 1);

    let midway = || Fault::on(Verb::Watch).cut().after_events(MIDWAY);
    world.suffer([Fault::on(Verb::Watch).expire(), midway()]).await;
    world.suffer([Fault::on(Verb::Watch).answer(410)]).await;
    world.suffer([Fault::on(Verb::Watch).answer(429), Fault::on(Verb::Watch).answer(500)]).await;
    world.suffer([Fault::on(Verb::Watch).expire(), Fault::on(Verb::Watch).answer(500)]).await;
    reflecting.caught_up(&world).await;
    world.forget().await; // last, so that nothing mends what this breaks

    let (version, server) = world.rest().await;
    let reflected = reflecting.end(version).await;
    assert_same(&reflected.cache, &server);
    // At the beginning, after a state that broke off, an expiry, another break, an expiry, and a compaction.
    assert!(reflected.begun >= 6, "it has begun {} times", reflected.begun);
    world.cluster.stop().await;
}
