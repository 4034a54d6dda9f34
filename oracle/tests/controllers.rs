//! Finalizers, events and leases of our controllers, on the real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use watchkeeper_cache::InformerFactory;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::events::{Event, EventApi, EventRecorder, Reference, ServerSink};
use watchkeeper_controller::leader::{Elector, Lease};
use watchkeeper_controller::{Action, Controller, Error, Finalizer, Finalizing, Manager};
use watchkeeper_core::Collection;
use watchkeeper_oracle::Cluster;
use watchkeeper_wire::Kind;

const NAMESPACE: &str = "default";

fn client(cluster: &Cluster) -> Client {
    let sources = Sources::File(cluster.kubeconfig().to_owned());
    Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap()
}

fn objects(client: &Client, group: &str, resource: &str, kind: &str) -> ResourceClient<Value> {
    client.resource(resource, &Kind::new(group, "v1", kind)).namespace(NAMESPACE)
}

fn finalizers(map: &Value) -> Vec<&str> {
    map["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Reconciles config maps with the label `ours=yes`: runs the finalizer and sends each step to the test.
async fn finalize(
    map: Arc<Value>,
    context: Arc<(Finalizer<Value>, mpsc::Sender<String>)>,
) -> Result<Action, Error> {
    if map["metadata"]["labels"]["ours"] != "yes" {
        return Ok(Action::await_change());
    }
    let (finalizer, sender) = &*context;
    finalizer
        .run(map, |step| async move {
            let step = match step {
                Finalizing::Apply(map) => format!("apply {:?}", finalizers(&map)),
                Finalizing::Cleanup(map) => format!("cleanup {:?}", finalizers(&map)),
            };
            sender.send(step).await?;
            Ok(Action::await_change())
        })
        .await
}

/// Runs a controller with a finalizer, and checks its steps for a config map without and with another finalizer.
async fn check_finalizer(client: &Client) {
    let maps = objects(client, "", "configmaps", "ConfigMap");
    let factory = InformerFactory::new(client.clone());
    let informer = factory.informer(&Collection::CONFIG_MAPS.namespace(NAMESPACE));
    let finalizer = Finalizer::new("example.com/ours", &maps);
    let (sender, mut steps) = mpsc::channel(100);
    let mut manager = Manager::new(&factory);
    manager.add(Controller::new("maps", &informer), finalize, Arc::new((finalizer, sender)));
    let scenario = async {
        for others in [json!([]), json!(["example.com/other"])] {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "finalized", "labels": {"ours": "yes"}, "finalizers": others},
            });
            maps.create(&map, &Default::default()).await.unwrap();
            let mut names: Vec<&str> = finalizers(&map);
            names.push("example.com/ours");
            let (apply, cleanup) = (format!("apply {names:?}"), format!("cleanup {names:?}"));
            assert_eq!(steps.recv().await.as_ref(), Some(&apply));
            maps.delete("finalized", &Default::default()).await.unwrap();
            let mut next = steps.recv().await.unwrap();
            while next == apply {
                next = steps.recv().await.unwrap(); // reconciled again for its own change, before the deletion
            }
            assert_eq!(next, cleanup);
            if names.len() > 1 {
                // Our finalizer is removed, the other one stays.
                let mut subscription = informer.subscribe(Default::default());
                while let Some(notification) = subscription.next().await {
                    let map: Value =
                        watchkeeper_wire::decode(&notification.newest().encoded, informer.kind()).unwrap();
                    if finalizers(&map) == ["example.com/other"]
                        && !map["metadata"]["deletionTimestamp"].is_null()
                    {
                        break;
                    }
                }
            } else {
                while maps.get_opt("finalized").await.unwrap().is_some() {
                    tokio::task::yield_now().await;
                }
            }
        }
    };
    manager.run_until(Box::pin(scenario)).await.unwrap();
}

/// Records events with both APIs, and checks how they are aggregated.
async fn check_events(client: &Client, about: &Reference) {
    for api in [EventApi::Core, EventApi::Events] {
        let component = format!("{api:?}").to_lowercase();
        let (recorder, writer) = EventRecorder::new(ServerSink::new(client, api), api, &component);
        for number in 0..12 {
            recorder.record(about, Event::warning("Many", number.to_string()).action("Trying"));
        }
        for _ in 0..3 {
            recorder.record(about, Event::normal("Again", "m").action("Trying").related(about));
        }
        let stop = CancellationToken::new();
        stop.cancel();
        writer.run(stop).await;
    }
    let events = objects(client, "", "events", "Event");
    let all = events.list(&Default::default()).await.unwrap().items;
    let of = |component: &str, reason: &str| -> Vec<Value> {
        let is_from = |event: &&Value| {
            event["reportingComponent"] == component || event["source"]["component"] == component
        };
        all.iter().filter(is_from).filter(|event| event["reason"] == reason).cloned().collect()
    };
    assert_eq!(of("core", "Many").len(), 10);
    let combined = of("core", "Many").into_iter().find(|event| event["count"] == 3).unwrap();
    assert_eq!(combined["message"], "(combined from similar events): 11");
    assert_eq!((of("core", "Again").len(), &of("core", "Again")[0]["count"]), (1, &3.into()));
    let series = of("events", "Many");
    assert_eq!((series.len(), &series[0]["series"]["count"]), (1, &12.into()));
    assert_eq!(series[0]["involvedObject"]["uid"], about.uid.as_str());
    assert_eq!(of("events", "Again")[0]["series"]["count"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizers_leases_and_events_work_on_the_real_server() {
    let cluster = Cluster::start().await.unwrap();
    let client = client(&cluster);
    check_finalizer(&client).await;

    let (recorder, writer) = EventRecorder::for_server(&client, "elections").await;
    assert_eq!(writer.api(), EventApi::Events);
    let holders = Arc::new(std::sync::Mutex::new(Vec::new()));
    for name in ["one", "two"] {
        let seen = holders.clone();
        let lease = Lease::new(&client, NAMESPACE, "shops").label(name, "yes");
        let elector = Elector::new(lease, name).unwrap().events(&recorder);
        let elector = elector.on_change(move |holder| seen.lock().unwrap().push(holder.to_owned()));
        assert!(elector.run(|_| async {}, std::future::pending()).await);
    }
    assert_eq!(*holders.lock().unwrap(), ["one", "", "", "two", ""]);
    let stop = CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let lease = objects(&client, "coordination.k8s.io", "leases", "Lease").get("shops").await.unwrap();
    assert_eq!(lease["metadata"]["labels"], json!({"one": "yes", "two": "yes"}));
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
    let describe = ["describe", "lease", "shops", "-n", NAMESPACE];
    let described = cluster.kubectl().stdout(describe, "").await.unwrap();
    assert!(described.contains("one became leader"), "{described}");

    check_events(&client, &Reference::of_object(&lease).unwrap()).await;
}
