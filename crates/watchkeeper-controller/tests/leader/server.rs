//! Leases on a server.

use std::time::Duration;

use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::events::{EventApi, EventRecorder, ServerSink};
use watchkeeper_controller::leader::{Elector, Leadership, Lease};
use watchkeeper_testkit::TestCluster;
use watchkeeper_wire::Kind;

async fn start() -> (TestCluster, Client) {
    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    (cluster, client)
}

#[tokio::test]
async fn leadership_events_are_recorded_on_the_lease_and_labels_are_added() {
    let (cluster, client) = start().await;
    let namespace = cluster.namespace();
    let sink = ServerSink::new(&client, EventApi::Core);
    let (recorder, writer) = EventRecorder::new(sink, EventApi::Core, "shops");
    let leases: ResourceClient<serde_json::Value> =
        client.resource("leases", &Kind::new("coordination.k8s.io", "v1", "Lease"));
    let leases = leases.namespace(namespace);
    for label in ["one", "two"] {
        let lease = Lease::new(&client, namespace, "shops").label(label, "yes");
        let elector = Elector::new(lease, label).unwrap().events(&recorder);
        assert!(elector.run(|_| async {}, std::future::pending()).await);
    }
    let stop = tokio_util::sync::CancellationToken::new();
    stop.cancel();
    writer.run(stop).await;
    let lease = leases.get("shops").await.unwrap();
    assert_eq!(lease["metadata"]["labels"], serde_json::json!({"one": "yes", "two": "yes"}));
    let events: ResourceClient<serde_json::Value> = client.resource("events", &Kind::new("", "v1", "Event"));
    let events = events.namespace(namespace).list(&Default::default()).await.unwrap().items;
    let mut messages = Vec::new();
    for event in &events {
        assert_eq!(event["reason"], "LeaderElection");
        assert_eq!(event["involvedObject"]["uid"], lease["metadata"]["uid"]);
        messages.push(event["message"].as_str().unwrap());
    }
    messages.sort_unstable();
    assert_eq!(
        messages,
        ["one became leader", "one stopped leading", "two became leader", "two stopped leading"]
    );
    cluster.stop().await;
}

#[tokio::test]
async fn a_lease_changes_hands_and_keeps_fields_written_by_others() {
    let (cluster, client) = start().await;
    let leases: ResourceClient<serde_json::Value> =
        client.resource("leases", &Kind::new("coordination.k8s.io", "v1", "Lease"));
    let leases = leases.namespace("default");
    let seconds = Duration::from_secs;
    for round in 0..5_u32 {
        let lease = Lease::new(&client, "default", "shops");
        let elector = Elector::new(lease, &format!("process-{round}")).unwrap();
        let elector = elector.times(seconds(15), seconds(10), Duration::from_millis(50)).unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let lead = |leadership: Leadership| async move {
            sender.send(leadership.token()).unwrap();
        };
        assert!(elector.run(lead, std::future::pending()).await);
        assert_eq!(receiver.await.unwrap(), round);
        let label = serde_json::json!({"metadata": {"labels": {"by": "kubectl"}}});
        leases.patch("shops", PatchKind::Merge, &label, &Default::default()).await.unwrap();
    }
    let lease = leases.get("shops").await.unwrap();
    assert_eq!(lease["metadata"]["labels"]["by"], "kubectl");
    assert_eq!(lease["spec"]["holderIdentity"], "");
    cluster.stop().await;
}
