//! On a server.

use std::time::Duration;

use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_client::resource::ResourceClient;
use watchkeeper_client::rest::PatchKind;
use watchkeeper_client::{Client, Config};
use watchkeeper_controller::leader::{Elector, Leadership, Lease};
use watchkeeper_testkit::TestCluster;
use watchkeeper_wire::Kind;

#[tokio::test]
async fn the_lease_goes_from_one_to_the_next_and_keeps_what_others_wrote() {
    let cluster = TestCluster::start().await.unwrap();
    let sources = Sources::File(cluster.kubeconfig_path().to_owned());
    let client = Client::new(&Config::load(&sources, &Overrides::default()).unwrap()).unwrap();
    let leases: ResourceClient<serde_json::Value> =
        client.resource("leases", &Kind::new("coordination.k8s.io", "v1", "Lease"));
    let leases = leases.namespace("default");
    let seconds = Duration::from_secs;
    for round in 0..5_u32 {
        let lease = Lease::new(&client, "default", "shops");
        let elector = Elector::new(lease, &format!("process-{round}")).unwrap();
        let elector = elector.times(seconds(15), seconds(10), Duration::from_millis(50)).unwrap();
        let (told, hears) = tokio::sync::oneshot::channel();
        let lead = |leadership: Leadership| async move {
            told.send(leadership.token()).unwrap();
        };
        assert!(elector.run(lead, std::future::pending()).await);
        assert_eq!(hears.await.unwrap(), round);
        let label = serde_json::json!({"metadata": {"labels": {"by": "kubectl"}}});
        leases.patch("shops", PatchKind::Merge, &label, &Default::default()).await.unwrap();
    }
    let lease = leases.get("shops").await.unwrap();
    assert_eq!(lease["metadata"]["labels"]["by"], "kubectl");
    assert_eq!(lease["spec"]["holderIdentity"], "");
    cluster.stop().await;
}
