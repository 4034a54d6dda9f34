//! Caches of client-go and kube-rs on our server, which forces relists by every kind of list and watch failure, with
//! 10,000 objects and continuous writes. In the end each cache must have the server's version of every object.

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
/// Number of names that the writer uses; some of them do not exist initially.
const NAMES: u64 = 12_000;
/// The object that is created after the writer has stopped; its name sorts last.
const LAST: &str = "zzz";
/// An object whose arrival shows that a client is watching.
const MARKER: &str = "marker";
/// Number of initial events after which a watch is cut.
const MIDWAY: u64 = 3000;

/// Time limit of a test, for clients that do not recover.
const LIMIT: Duration = Duration::from_secs(180);

fn config_maps() -> CollectionId {
    "configmaps".into()
}

fn config_map(namespace: &str, name: &str, turn: u64) -> Unversioned {
    let text = "some text that makes the object as large as a typical small one ".repeat(3);
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{name}","labels":{{"app":"web"}}}},"data":{{"turn":"{turn}","text":"{text}"}}}}"#
    );
    Unversioned::from_json(body.as_bytes()).unwrap()
}

/// Resource versions by object name.
type Versions = BTreeMap<String, String>;

/// A cluster with its objects, and a running writer.
struct Environment {
    cluster: TestCluster,
    stop: CancellationToken,
    writer: JoinHandle<u64>,
}

impl Environment {
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

    /// Injects each fault once, and waits until all of them have hit.
    async fn inject_once<const N: usize>(&self, faults: [Fault; N]) {
        let rules = faults.map(|fault| self.fault(fault.times(1)));
        self.trigger(&rules[0]).await;
        for rule in rules {
            rule.happened(1).await;
            assert_eq!(rule.hits(), 1);
            rule.remove();
        }
    }

    /// Closes open watches until a fault on watches has hit. A watch that is just being opened can miss both the
    /// fault and the close, so this retries.
    async fn trigger(&self, rule: &FaultHandle) {
        loop {
            self.cluster.faults().end_watches(&Requests::any());
            if timeout(Duration::from_secs(1), rule.happened(1)).await.is_ok() {
                return;
            }
        }
    }

    /// Compacts the store while the client's watch is stalled, so that the version from which it resumes has expired.
    async fn expire_history(&self) {
        self.inject_once([Fault::on(Verb::Watch).stall()]).await;
        let store = self.cluster.server().store();
        let now = store.current().await.unwrap();
        // Lets the writer run for more than a second: client-go treats an earlier end of a watch as a failure.
        store.wait_for(Revision::new(now.get() + 3000)).await.unwrap();
        self.cluster.compact().await.unwrap();
        let reopened = self.fault(Fault::on(Verb::Watch).delay(Duration::ZERO).times(1));
        self.cluster.faults().end_watches(&Requests::any());
        reopened.happened(1).await;
        reopened.remove();
    }

    /// Creates an object, and returns its version. A client whose cache has it is watching.
    async fn create_marker(&self, name: &str) -> String {
        let marker = config_map(self.cluster.namespace(), name, 0);
        let stored = self.cluster.server().store().put(&config_maps(), marker, Precondition::Absent).await;
        stored.unwrap().modified().to_string()
    }

    /// Stops the writer. Returns the version of the last object, and all versions on the server.
    async fn stop_writing(&mut self) -> (String, Versions) {
        self.stop.cancel();
        let writes = (&mut self.writer).await.unwrap();
        assert!(writes > 1000, "only {writes} writes");
        let store = self.cluster.server().store();
        let last = self.create_marker(LAST).await;
        let range = store.range(RangeQuery::all(config_maps())).await.unwrap();
        let versions = range.items.iter().map(|it| (it.key().name().to_owned(), it.modified().to_string()));
        (last, versions.collect())
    }
}

fn name(number: u64) -> String {
    format!("m{number:05}")
}

/// Creates, updates and deletes random objects, up to 2,000 per second, until it is cancelled.
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
                Ok(_) | Err(WriteError::Conflict { .. }) => {} // the object to delete does not exist
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn assert_same(cache: &Versions, server: &Versions) {
    assert!(server.len() > 5000, "only {} objects on the server", server.len());
    let outdated: Vec<_> =
        server.iter().filter(|(name, version)| cache.get(*name) != Some(version)).collect();
    let extra: Vec<_> = cache.keys().filter(|name| !server.contains_key(*name)).collect();
    assert!(outdated.is_empty() && extra.is_empty(), "missing or old: {outdated:?}, deleted: {extra:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_go_informer_equals_the_server_after_relists() {
    timeout(LIMIT, client_go()).await.unwrap();
}

async fn client_go() {
    let mut env = Environment::start().await;
    let cluster = &env.cluster;
    // The initial watch is cut, so client-go falls back to a list, which gets a 429.
    let cut = env.fault(Fault::on(Verb::Watch).cut().after_events(MIDWAY).times(1));
    let busy = env.fault(Fault::on(Verb::List).answer(429).times(1));
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

    env.inject_once([Fault::on(Verb::Watch).expire()]).await;
    env.inject_once([Fault::on(Verb::Watch).answer(410)]).await;
    // client-go streams the initial state with a watch. That fails, and so does the list that it falls back to.
    let (no_watch, no_list) = (Fault::on(Verb::Watch).answer(500), Fault::on(Verb::List).answer(500));
    let (no_watch, no_list) = (env.fault(no_watch), env.fault(no_list.times(1)));
    env.trigger(&no_watch).await;
    no_list.happened(1).await;
    no_watch.remove();

    // The last fault, so that no other relist repairs the cache afterwards.
    let mut requests = program.stdin.take().unwrap();
    let version = env.create_marker(MARKER).await;
    requests.write_all(format!("{MARKER} {version} 0\n").as_bytes()).await.unwrap();
    while !lines.next_line().await.unwrap().unwrap().starts_with("end ") {}
    env.expire_history().await;

    let (version, server) = env.stop_writing().await;
    requests.write_all(format!("{LAST} {version} {}\n", server.len()).as_bytes()).await.unwrap();
    let mut cache = Versions::new();
    let end = loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if line.starts_with("end ") {
            break line;
        }
        let (key, version) = line.split_once(' ').unwrap();
        let (namespace, name) = key.split_once('/').unwrap();
        assert_eq!(namespace, env.cluster.namespace());
        cache.insert(name.to_owned(), version.to_owned());
    };
    assert_same(&cache, &server);
    // Watches with initial events: at the start, and after both forms of 410, a failure and a compaction. Lists: the
    // one that got a 429, its retry, and the one that failed.
    let sent: Vec<u64> = end.split(['=', ' ']).filter_map(|word| word.parse().ok()).collect();
    assert!(sent[0] >= 3 && sent[1] >= 5, "too few relists: {end}");
    drop(requests);
    assert!(program.wait().await.unwrap().success());
    env.cluster.stop().await;
}

/// A running kube-rs reflector, which stops once it has the last object.
struct KubeReflector {
    reader: reflector::Store<ConfigMap>,
    /// Notified after each event has been applied to the store.
    changed: Arc<Notify>,
    /// The version of the last object, once it is known.
    last: watch::Sender<Option<String>>,
    task: JoinHandle<FinalState>,
}

/// The contents of a reflector when it stopped.
struct FinalState {
    cache: Versions,
    /// Number of times it started a list or streamed list.
    relists: usize,
}

impl KubeReflector {
    async fn start(cluster: &TestCluster, config: watcher::Config) -> Self {
        let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
        let settings = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
        assert_eq!(settings.default_namespace, cluster.namespace());
        let client = kube::Client::try_from(settings).unwrap();
        let api: kube::Api<ConfigMap> = kube::Api::default_namespaced(client);
        let (last, receiver) = watch::channel(None);
        let last_object = ObjectRef::new(LAST).within(cluster.namespace());
        let (reader, writer) = reflector::store();
        let changed = Arc::new(Notify::new());
        let task = tokio::spawn(reflect(
            api,
            config,
            (reader.clone(), writer),
            changed.clone(),
            last_object,
            receiver,
        ));
        Self { reader, changed, last, task }
    }

    /// Waits until the reflector is watching.
    async fn wait_until_watching(&self, env: &Environment) {
        let version = env.create_marker(MARKER).await;
        let marker = ObjectRef::new(MARKER).within(env.cluster.namespace());
        loop {
            let changed = self.changed.notified();
            if self.reader.get(&marker).and_then(|it| it.resource_version()).as_ref() == Some(&version) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until the reflector has this version of the last object.
    async fn finish(self, version: String) -> FinalState {
        self.last.send(Some(version)).unwrap();
        self.task.await.unwrap()
    }
}

async fn reflect(
    api: kube::Api<ConfigMap>,
    config: watcher::Config,
    (reader, mut writer): (reflector::Store<ConfigMap>, reflector::store::Writer<ConfigMap>),
    changed: Arc<Notify>,
    last_object: ObjectRef<ConfigMap>,
    mut last: watch::Receiver<Option<String>>,
) -> FinalState {
    let mut events = watcher::watcher(api, config).boxed();
    let mut relists = 0;
    loop {
        tokio::select! {
            // The watcher retries after an error by itself.
            event = events.next() => if let Ok(event) = event.unwrap() {
                relists += usize::from(matches!(event, watcher::Event::Init));
                writer.apply_watcher_event(&event);
                changed.notify_waiters();
            },
            Ok(()) = last.changed() => {}
        }
        let version = reader.get(&last_object).and_then(|it| it.resource_version());
        if version.is_some() && version == *last.borrow() {
            let objects = reader.state();
            let versions =
                objects.iter().map(|it| (it.name_any(), it.resource_version().unwrap_or_default()));
            return FinalState { cache: versions.collect(), relists };
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kube_reflector_with_paged_lists_equals_the_server_after_relists() {
    timeout(LIMIT, kube_with_pages()).await.unwrap();
}

async fn kube_with_pages() {
    let mut env = Environment::start().await;
    let cut = env.fault(Fault::on(Verb::List).cut().every(3).times(1));
    let busy = env.fault(Fault::on(Verb::List).answer(429).times(1));
    let config = watcher::Config::default().page_size(500).timeout(1);
    let reflector = KubeReflector::start(&env.cluster, config).await;
    reflector.reader.wait_until_ready().await.unwrap();
    assert_eq!((cut.hits(), busy.hits()), (1, 1));

    env.inject_once([Fault::on(Verb::Watch).expire(), Fault::on(Verb::List).answer(500)]).await;
    env.inject_once([Fault::on(Verb::Watch).answer(410)]).await; // kube-rs does not relist for a 410 status: it retries
    // A compaction while the client is between two pages of a list.
    let waiting = env.fault(Fault::on(Verb::List).delay(Duration::from_millis(300)).every(5).times(1));
    env.inject_once([Fault::on(Verb::Watch).expire()]).await;
    waiting.happened(1).await;
    env.cluster.compact().await.unwrap();
    // A watch that stalls until the client times out.
    env.inject_once([Fault::on(Verb::Watch).stall()]).await;
    let reopened = env.fault(Fault::on(Verb::Watch).delay(Duration::ZERO).times(1));
    reopened.happened(1).await;
    reflector.wait_until_watching(&env).await;
    env.expire_history().await; // the last fault, so that no other relist repairs the cache

    let (version, server) = env.stop_writing().await;
    let state = reflector.finish(version).await;
    assert_same(&state.cache, &server);
    // At the start, and after a cut list, an expiry, a failure, another expiry, an expired continue token, and a
    // compaction.
    assert!(state.relists >= 7, "only {} relists", state.relists);
    env.cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kube_reflector_with_streamed_lists_equals_the_server_after_relists() {
    timeout(LIMIT, kube_with_streams()).await.unwrap();
}

async fn kube_with_streams() {
    let mut env = Environment::start().await;
    let cut = env.fault(Fault::on(Verb::Watch).cut().after_events(MIDWAY).times(1));
    let config = watcher::Config::default().streaming_lists().timeout(1);
    let reflector = KubeReflector::start(&env.cluster, config).await;
    reflector.reader.wait_until_ready().await.unwrap();
    assert_eq!(cut.hits(), 1);

    let midway = || Fault::on(Verb::Watch).cut().after_events(MIDWAY);
    env.inject_once([Fault::on(Verb::Watch).expire(), midway()]).await;
    env.inject_once([Fault::on(Verb::Watch).answer(410)]).await;
    env.inject_once([Fault::on(Verb::Watch).answer(429), Fault::on(Verb::Watch).answer(500)]).await;
    env.inject_once([Fault::on(Verb::Watch).expire(), Fault::on(Verb::Watch).answer(500)]).await;
    reflector.wait_until_watching(&env).await;
    env.expire_history().await; // the last fault, so that no other relist repairs the cache

    let (version, server) = env.stop_writing().await;
    let state = reflector.finish(version).await;
    assert_same(&state.cache, &server);
    // At the start, and after a cut watch, an expiry, another cut, an expiry, and a compaction.
    assert!(state.relists >= 6, "only {} relists", state.relists);
    env.cluster.stop().await;
}
