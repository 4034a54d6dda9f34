//! Factories: defaults, start, readiness and exits.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, Handler, Resync, Subscription, SubscriptionOptions};
use watchkeeper_cache::reflector::{ExitReason, Failure, Next, Observer, OnGone};
use watchkeeper_cache::{InformerFactory, Keep};
use watchkeeper_client::dynamic::DynamicObject;
use watchkeeper_core::{Collection, GroupResource, ListWatch, ResourceVersion, Status};
use watchkeeper_testkit::script::{Script, Watch, object};
use watchkeeper_testkit::{Fault, Requests, Verb};

use crate::{PATIENCE, World, config_maps};

fn pods() -> Collection {
    Collection::PODS
}

fn nodes() -> Collection {
    Collection::NODES
}

/// Returns the same script for every collection, and records the requested collections.
fn noting(
    script: &Script,
    asked: &Arc<Mutex<Vec<String>>>,
) -> impl Fn(&Collection) -> Box<dyn ListWatch> + Send + Sync + 'static {
    let (script, asked) = (script.clone(), asked.clone());
    move |collection| {
        let metadata = if collection.is_metadata_only() { " (metadata)" } else { "" };
        asked.lock().push(format!("{collection}{metadata}"));
        Box::new(script.clone())
    }
}

#[tokio::test]
async fn a_collection_takes_unset_options_from_the_factory() {
    let asked = Arc::default();
    let factory = InformerFactory::builder(noting(&Script::new(), &asked))
        .namespaces(["shop", "bank"])
        .labels("app=web".parse().unwrap())
        .fields("metadata.name=a".parse().unwrap())
        .build();
    factory.informer(&pods());
    factory.informer(&pods().namespaces(["bank", "shop"])); // the same
    factory.informer(&pods().namespace("mine").labels(&"tier=db".parse().unwrap()));
    factory.informer(&nodes().cluster_scoped(true));
    factory.informer(&nodes().cluster_scoped(true)); // the same
    let expected = [
        "pods.v1 in bank with app=web with metadata.name=a",
        "pods.v1 in shop with app=web with metadata.name=a",
        "pods.v1 in mine with tier=db with metadata.name=a",
        "nodes.v1 with app=web with metadata.name=a",
    ];
    assert_eq!(*asked.lock(), expected);
    assert_eq!(factory.collections().len(), 3);

    asked.lock().clear();
    let heads = InformerFactory::builder(noting(&Script::new(), &asked)).metadata_only().build();
    assert_eq!(heads.informer(&pods()).kind().kind(), "PartialObjectMetadata");
    assert_eq!(*asked.lock(), ["pods.v1 (metadata)"]);
}

#[tokio::test]
async fn default_selectors_apply_to_lists_and_watches() {
    let world = World::start().await;
    let elsewhere = world.cluster.fresh_namespace().await.unwrap();
    world.create("a", "web").await;
    world.create("b", "db").await;
    let factory = InformerFactory::builder(world.client.clone())
        .namespaces([world.cluster.namespace()])
        .labels("app=web".parse().unwrap())
        .build();
    let maps = factory.informer(&config_maps());
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    let names = || -> Vec<String> {
        maps.store().snapshot().iter().map(|map| map.metadata.key().name().to_owned()).collect()
    };
    assert_eq!(names(), ["a"]);
    world.create("c", "db").await;
    let mut other = DynamicObject::new("v1", "ConfigMap", "d");
    other.set(&["metadata", "labels", "app"], "web".into());
    let there = world.client.dynamic(&"v1".parse().unwrap(), "configmaps").namespace(&elsewhere);
    there.create(&other, &Default::default()).await.unwrap();
    let last: ResourceVersion = world.create("e", "web").await.resource_version().into();
    tokio::time::timeout(PATIENCE, maps.store().wait_for(&last)).await.unwrap();
    assert_eq!(names(), ["a", "e"]);
    factory.stop().await;
    world.cluster.stop().await;
}

async fn looked_again(subscription: &mut Subscription) -> usize {
    let mut count = 0;
    let _ = tokio::time::timeout(Duration::from_secs(24), async {
        while let Some(delta) = subscription.next().await {
            count += usize::from(matches!(delta, Delta::Resync(_)));
        }
    })
    .await;
    count
}

#[tokio::test(start_paused = true)]
async fn the_resync_period_defaults_to_that_of_the_resource_then_of_the_factory() {
    let there = Watch::new().added(object("x/a", 1)).initial_events_end(2).stalls();
    let sources = |script: Script| move |_: &Collection| Box::new(script.clone()) as Box<dyn ListWatch>;
    let with = |resync| SubscriptionOptions { resync, ..SubscriptionOptions::default() };
    let build = |there: Watch| {
        InformerFactory::builder(sources(Script::new().then(there)))
            .resync(Duration::from_secs(10))
            .resync_of("", "nodes", Resync::Never)
    };
    let factory = build(there).build();
    let maps = factory.informer(&config_maps());
    let mut default = maps.subscribe(with(Resync::Default));
    let mut own = maps.subscribe(with(Resync::Every(Duration::from_secs(5))));
    let mut never = maps.subscribe(with(Resync::Never));
    let mut zero = maps.subscribe(with(Resync::Every(Duration::ZERO)));
    let mut read = maps.reader::<Value>(Keep::Encoded).subscribe(with(Resync::Default));
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    let counts = tokio::join!(
        looked_again(&mut default),
        looked_again(&mut own),
        looked_again(&mut never),
        looked_again(&mut zero),
        looked_again(&mut read),
    );
    assert_eq!(counts, (2, 4, 0, 0, 2));

    let factory = build(Watch::new().added(object("n1", 1)).initial_events_end(2).stalls()).build();
    let mut nodes = factory.informer(&nodes()).subscribe(with(Resync::Default));
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    assert_eq!(looked_again(&mut nodes).await, 0);
}

#[tokio::test]
async fn an_informer_of_a_removed_resource_exits_and_is_created_anew_on_request() {
    let world = World::start().await;
    world.create("a", "web").await;
    let factory = InformerFactory::new(world.client.clone());
    let mut exits = factory.exits();
    let maps = factory.informer(&config_maps());
    let others = factory.informer(&Collection::SECRETS);
    let mut changes = maps.subscribe(SubscriptionOptions::default());
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    let kept = maps.store().snapshot().len();

    let faults = world.cluster.faults();
    let gone =
        [Verb::List, Verb::Watch].map(|verb| faults.add(Fault::on(verb).resource("configmaps").answer(404)));
    faults.end_watches(&Requests::any());
    let exit = tokio::time::timeout(PATIENCE, exits.next()).await.unwrap().unwrap();
    assert_eq!(exit.collection, config_maps());
    assert!(matches!(&exit.reason, ExitReason::Gone(status) if status.is_not_found()), "{}", exit.reason);
    assert_eq!(maps.exited().await, exit.reason);
    while changes.next().await.is_some() {}
    assert!(kept > 0 && maps.store().snapshot().len() == kept, "the store stays readable");
    let requests = gone[0].hits() + gone[1].hits();
    assert!(requests <= 5, "{requests}");

    let again = factory.informer(&config_maps());
    assert!(!again.is_started() && !again.is_ready());
    for rule in gone {
        rule.remove();
    }
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    assert_eq!(again.store().snapshot().len(), kept);
    let created = world.create("b", "web").await;
    tokio::time::timeout(PATIENCE, again.store().wait_for(&created.resource_version().into())).await.unwrap();
    assert!(others.is_ready() && factory.collections().len() == 2);

    factory.stop().await;
    assert_eq!(exits.next().await, None, "no other informer exited");
    world.cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_factory_can_be_configured_to_retry_a_removed_resource() {
    let widgets = GroupResource { group: "example.com".into(), resource: "widgets".into() };
    let gone = || Status::not_found(&widgets, "");
    let there = |version| Watch::new().added(object("x/a", version)).initial_events_end(version);
    let script = Script::new()
        .then(there(1).wait(Duration::from_secs(2)).fails(gone()))
        .watch_fails(gone())
        .list_fails(gone())
        .then(there(9).stalls());
    let sources = {
        let script = script.clone();
        move |_: &Collection| Box::new(script.clone()) as Box<dyn ListWatch>
    };
    let factory =
        InformerFactory::builder(sources).configure(|_, reflector| reflector.on_gone(OnGone::Retry)).build();
    let mut exits = factory.exits();
    let pods = factory.informer(&pods());
    factory.start();
    pods.store().wait_for(&9.into()).await;
    factory.stop().await;
    assert_eq!(exits.next().await, None);
}

/// Panics on a failure.
struct Nervous;

impl Observer for Nervous {
    fn failed(&mut self, _: &str, _: &Failure, _: Next, _: Duration) {
        panic!("a failure");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_informer_exits_and_blocks_nobody() {
    let no = || Status::forbidden(None, "", "no");
    let sources = move |_: &Collection| {
        Box::new(Script::new().watch_fails(no()).list_fails(no())) as Box<dyn ListWatch>
    };
    let factory =
        InformerFactory::builder(sources).configure(|_, reflector| reflector.observer(Nervous)).build();
    let mut exits = factory.exits();
    let pods_informer = factory.informer(&pods());
    factory.start();
    assert_eq!(pods_informer.exited().await, ExitReason::Panicked);
    assert!(!pods_informer.wait_until_ready().await);
    let exit = exits.next().await.unwrap();
    assert_eq!((exit.collection, exit.reason), (pods(), ExitReason::Panicked));
    factory.stop().await;
}

#[tokio::test]
async fn a_stopped_factory_has_no_tasks_and_starts_none() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let sources = |_: &Collection| {
        let there = Watch::new().added(object("x/a", 1)).initial_events_end(2).stalls();
        Box::new(Script::new().then(there)) as Box<dyn ListWatch>
    };
    let factory = InformerFactory::new(sources);
    let informers: Vec<_> =
        (0..5).map(|number| factory.informer(&pods().namespace(&number.to_string()))).collect();
    let handlers: Vec<_> = informers
        .iter()
        .map(|informer| Handler::start(informer.subscribe(SubscriptionOptions::default()), drop))
        .collect();
    let late = factory.informer(&nodes());
    factory.start();
    factory.start();
    assert_eq!(tasks() - before, 11, "one for each informer and each handler");
    factory.wait_until_ready(PATIENCE).await.unwrap();
    factory.stop_informer(&nodes()).await;
    assert_eq!(tasks() - before, 10, "a single informer can be stopped");
    assert_eq!(late.exited().await, ExitReason::Stopped);

    factory.stop().await;
    for handler in handlers {
        handler.finished().await;
    }
    assert_eq!(tasks(), before);
    factory.start();
    late.start();
    let never = factory.informer(&pods());
    never.start();
    assert_eq!((tasks(), never.exited().await), (before, ExitReason::Stopped));
    assert_eq!(factory.exits().next().await, None);
    factory.stop().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_informer_that_was_not_started_is_an_error() {
    let there = Watch::new().added(object("x/a", 1)).initial_events_end(2).stalls();
    let script = Script::new().then(there);
    let factory = InformerFactory::new(move |_: &Collection| Box::new(script.clone()) as Box<dyn ListWatch>);
    factory.start();
    assert_eq!(
        factory.wait_until_ready(PATIENCE).await.unwrap_err().to_string(),
        "the factory has no informers: request a lister, a handler or an informer before start"
    );
    factory.informer(&pods());
    assert!(factory.unready().is_empty(), "not started");
    assert_eq!(
        factory.wait_until_ready(Duration::from_secs(30)).await.unwrap_err().to_string(),
        "informers not ready after 30s: pods.v1: not started; call start again after requesting it"
    );
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    factory.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_not_ready_reports_the_error_of_the_server() {
    let refused = || Status::unauthorized("Unauthorized");
    let sources = move |collection: &Collection| match collection.resource() {
        "pods" => {
            let script = Script::new().without_initial_events();
            Box::new((0..99).fold(script, |script, _| script.list_fails(refused()))) as Box<dyn ListWatch>
        }
        _ => Box::new(Script::new().then(Watch::new().stalls())) as Box<dyn ListWatch>,
    };
    let factory = InformerFactory::new(sources);
    let (pods_informer, _) = (factory.informer(&pods()), factory.informer(&nodes()));
    factory.start();
    let error = factory.wait_until_ready(Duration::from_secs(30)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "informers not ready after 30s: nodes.v1: waiting for the server's response; \
         pods.v1: list failed: list rejected by the server: Unauthorized (401)"
    );
    assert_eq!(error.source().unwrap().to_string(), "list failed");
    assert_eq!(pods_informer.progress().borrow().failure.as_ref().unwrap().status().unwrap().code, 401);
    factory.stop().await;
}

#[tokio::test(start_paused = true)]
async fn readers_subscriptions_and_handlers_outlive_the_factory() {
    let script = Script::new().then(
        Watch::new()
            .added(object("x/a", 1))
            .initial_events_end(2)
            .wait(Duration::from_secs(1))
            .added(object("x/b", 3))
            .stalls(),
    );
    let received = Arc::new(Mutex::new(0));
    let (reader, mut subscription) = {
        let source = script.clone();
        let factory =
            InformerFactory::new(move |_: &Collection| Box::new(source.clone()) as Box<dyn ListWatch>);
        let informer = factory.informer(&pods());
        let count = received.clone();
        Handler::start(informer.subscribe(SubscriptionOptions::default()), move |_| *count.lock() += 1);
        factory.start();
        (informer.reader::<Value>(Keep::Encoded), informer.subscribe(SubscriptionOptions::default()))
    };
    for name in ["a", "b"] {
        assert_eq!(subscription.next().await.unwrap().newest().metadata.key().name(), name);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((reader.store().snapshot().len(), *received.lock(), script.open()), (2, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_informer_ends_with_its_last_reader_or_subscription() {
    let script = Script::new().then(Watch::new().initial_events_end(2).stalls());
    let source = script.clone();
    let factory = InformerFactory::new(move |_: &Collection| Box::new(source.clone()) as Box<dyn ListWatch>);
    let informer = factory.informer(&pods());
    let handler = Handler::start(informer.subscribe(SubscriptionOptions::default()), drop);
    let events = informer.raw_events(Filter::default(), 1);
    let store = informer.store().clone();
    factory.start();
    factory.wait_until_ready(PATIENCE).await.unwrap();
    drop((factory, informer));
    handler.stop().await;
    drop(store);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(script.open(), 1, "events are still subscribed to");
    drop(events);
    while script.open() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_informer_can_be_waited_for() {
    let sources = |collection: &Collection| {
        let watch = Watch::new().added(object("x/a", 1));
        let watch = match collection.resource() {
            "pods" => watch.initial_events_end(2).stalls(),
            _ => watch.stalls(),
        };
        Box::new(Script::new().then(watch)) as Box<dyn ListWatch>
    };
    let factory = InformerFactory::new(sources);
    let (pods_informer, nodes_informer) = (factory.informer(&pods()), factory.informer(&nodes()));
    factory.start();
    assert!(pods_informer.wait_until_ready().await);
    let unready: Vec<_> = factory.unready().into_iter().map(|it| it.collection).collect();
    assert_eq!(unready, [nodes()]);
    assert_eq!(factory.wait_until_ready(PATIENCE).await.unwrap_err().collections(), [&nodes()]);
    let waiting = nodes_informer.clone();
    let waiting = tokio::spawn(async move { waiting.wait_until_ready().await });
    factory.stop().await;
    assert!(!waiting.await.unwrap(), "it exited before it was ready");
}
