//! Writing events to a server.

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::events::{Event, EventApi, EventRecorder, Reference, ServerSink};
use watchkeeper_core::Status;
use watchkeeper_testkit::{Fault, TestCluster, Verb};
use watchkeeper_wire::Kind;

struct World {
    cluster: TestCluster,
    client: Client,
    about: Reference,
}

impl World {
    async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let sources = Sources::File(cluster.kubeconfig_path().to_owned());
        let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
        let pod = serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "web", "namespace": cluster.namespace()},
        });
        let maps: ResourceClient<Value> = client.resource("configmaps", &Kind::new("", "v1", "ConfigMap"));
        let created = maps.namespace(cluster.namespace()).create(&pod, &Default::default()).await.unwrap();
        let about = Reference::of_object(&created).unwrap();
        Self { cluster, client, about }
    }

    /// Returns the events of the namespace, sorted by reason.
    async fn events(&self, group: &str) -> Vec<Value> {
        let events: ResourceClient<Value> = self.client.resource("events", &Kind::new(group, "v1", "Event"));
        let events = events.namespace(self.cluster.namespace());
        let mut all = events.list(&Default::default()).await.unwrap().items;
        all.sort_by_key(|event| event["reason"].as_str().unwrap().to_owned());
        all
    }
}

#[tokio::test]
async fn events_k8s_io_is_preferred_if_the_server_has_it() {
    let world = World::start().await;
    let (_, writer) = EventRecorder::for_server(&world.client, "shops").await;
    assert_eq!(writer.api(), EventApi::Events);
    world.cluster.stop().await;
}

#[tokio::test]
async fn v1_events_are_created_and_counted() {
    let world = World::start().await;
    let sink = ServerSink::new(&world.client, EventApi::Core);
    let (recorder, writer) = EventRecorder::new(sink, EventApi::Core, "shops");
    for _ in 0..3 {
        recorder.record(&world.about, Event::normal("Again", "m"));
    }
    for number in 0..12 {
        recorder.record(&world.about, Event::warning("Many", number.to_string()));
    }
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let events = world.events("").await;
    assert_eq!(events.len(), 11, "one counted, nine single, one aggregate");
    assert_eq!((&events[0]["reason"], &events[0]["count"]), (&"Again".into(), &3.into()));
    assert_eq!(events[0]["involvedObject"]["uid"], world.about.uid.as_str());
    assert_eq!(events[0]["reportingComponent"], "shops");
    let combined: Vec<_> =
        events.iter().filter(|event| event["count"] != 1 && event["reason"] == "Many").collect();
    assert_eq!(combined.len(), 1);
    assert_eq!(combined[0]["message"], "(combined from similar events): 11");
    assert_eq!((&combined[0]["count"], &combined[0]["type"]), (&3.into(), &"Warning".into()));
    world.cluster.stop().await;
}

#[tokio::test]
async fn events_k8s_io_series_are_readable_as_v1() {
    let world = World::start().await;
    let (recorder, writer) = EventRecorder::for_server(&world.client, "shops").await;
    let other = Reference { name: "other".to_owned(), ..world.about.clone() };
    for number in 0..5 {
        let event = Event::normal("Again", number.to_string()).action("Doing");
        recorder.record(&world.about, event.related(&other));
    }
    recorder.record(&world.about, Event::warning("Once", "m"));
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let events = world.events("events.k8s.io").await;
    assert_eq!(events.len(), 2);
    assert_eq!((&events[0]["series"]["count"], &events[0]["note"]), (&5.into(), &"0".into()));
    assert_eq!((&events[0]["action"], &events[0]["related"]["name"]), (&"Doing".into(), &"other".into()));
    assert!(events[0]["reportingInstance"].as_str().unwrap().starts_with("shops-"));
    assert!(events[1]["series"].is_null());
    let read = world.events("").await;
    assert_eq!((&read[0]["message"], &read[0]["series"]["count"]), (&"0".into(), &5.into()));
    world.cluster.stop().await;
}

#[tokio::test]
async fn events_that_the_server_rejects_are_not_retried() {
    let world = World::start().await;
    let sink = ServerSink::new(&world.client, EventApi::Core);
    let registry = watchkeeper_metrics::Registry::new();
    let (recorder, writer) = EventRecorder::new(sink, EventApi::Core, "shops");
    let writer = writer.metrics(&registry).unwrap();
    // A namespace that does not exist.
    let lost = Reference { namespace: "nowhere".to_owned(), ..world.about.clone() };
    recorder.record(&lost, Event::normal("Lost", "m"));
    recorder.record(&world.about, Event::normal("Kept", "m"));
    let cut = Fault::on(Verb::Create).resource("events").namespace(world.cluster.namespace());
    let cut = world.cluster.faults().add(cut.answer(Status::forbidden(None, "", "no")).times(1));
    recorder.record(&world.about, Event::normal("Later", "m"));
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    assert_eq!(cut.hits(), 1);
    let reasons: Vec<_> = world.events("").await.iter().map(|event| event["reason"].clone()).collect();
    assert_eq!(reasons, ["Later"]);
    assert_eq!((crate::count(&registry, "rejected"), crate::count(&registry, "written")), (2, 1));
    world.cluster.stop().await;
}
