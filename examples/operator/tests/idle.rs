//! An operator that has nothing to do does nothing: no writes, and no events that claim some.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use operator_example::{MANAGER, Website, WebsiteSpec, Websites, informers, install};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::events::EventRecorder;
use watchkeeper_controller::{Action, Error, Manager, Reconcile, Request};
use watchkeeper_core::ObjectKey;
use watchkeeper_kinds::{Api, TypedFactory};
use watchkeeper_testkit::{Requests, TestCluster, Verb};

const PATIENCE: Duration = Duration::from_secs(30);
/// How often the operator is called.
const CALLS: u64 = 10;
const WRITES: [Verb; 4] = [Verb::Create, Verb::Update, Verb::Patch, Verb::Delete];

/// The operator, and how often it was called.
struct Counted {
    websites: Websites,
    calls: watch::Sender<u64>,
}

impl Reconcile for Counted {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let outcome = self.websites.reconcile(request).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        self.calls.send_modify(|calls| *calls += 1);
        outcome
    }
}

/// Runs the operator until it has reconciled a website this many times and written all events that it recorded.
async fn operate(client: &Client, website: &ObjectKey, times: u64) {
    let factory = TypedFactory::from(informers(client).build());
    let mut manager = Manager::new(&factory);
    let (recorder, writer) = EventRecorder::for_server(client, MANAGER).await;
    manager.spawn("events", |stop| async move {
        writer.run(stop).await;
        Ok(())
    });
    let (calls, mut called) = watch::channel(0);
    let (again, keys) = mpsc::channel(1);
    let websites = Websites::new(client, &factory, &recorder);
    manager.add(Websites::controller(&factory).reconcile_on(keys), Counted { websites, calls });
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(manager.run_until(async { drop(stopped.await) }));
    for time in 1..=times {
        timeout(PATIENCE, called.wait_for(|calls| *calls >= time)).await.unwrap().unwrap();
        again.send(website.clone()).await.unwrap();
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_idle_reconciles_write_nothing_and_record_no_event() {
    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    install(&client).await.unwrap();
    let spec = WebsiteSpec { image: "nginx".to_owned(), replicas: 2, message: "Hello".to_owned() };
    let websites = Api::<Website>::default_namespaced(&client);
    websites.create(&Website::new("hello", spec), &Default::default()).await.unwrap();

    let website = ObjectKey::namespaced(cluster.namespace(), "hello");
    let count = |requests: Requests| cluster.faults().add(requests.delay(Duration::ZERO));
    let first = count(Requests::of(Verb::Create).resource("events"));
    // The finalizer, the deployment, the registration and the status: each write leads to another call.
    operate(&client, &website, CALLS).await;
    assert!(first.hits() > 0, "the creation of the deployment is recorded");
    first.remove();

    let events = WRITES.map(|verb| count(Requests::of(verb).resource("events")));
    let writes = WRITES.map(|verb| count(Requests::of(verb)));
    operate(&client, &website, CALLS).await;
    assert_eq!(writes.map(|rule| rule.hits()), [0; 4], "creates, updates, patches and deletes");
    assert_eq!(events.map(|rule| rule.hits()), [0; 4], "of events");
    cluster.stop().await;
}
