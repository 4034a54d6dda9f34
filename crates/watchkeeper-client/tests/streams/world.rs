//! A cluster with a node, a pod on it, and a client.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;
use watchkeeper_client::Client;
use watchkeeper_client::streams::PodStreams;
use watchkeeper_testkit::kubelet::Channels;
use watchkeeper_testkit::{Kubelet, TestCluster};

use crate::support::config;

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) kubelet: Kubelet,
    pub(crate) client: Client,
    pub(crate) pod: PodStreams,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::speaking(Channels::V5).await
    }

    pub(crate) async fn speaking(channels: Channels) -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let kubelet = Kubelet::speaking(&cluster, "node-1", channels).await.unwrap();
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "app"}]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec});
        cluster.create(pod).await.unwrap();
        let client = Client::new(&config(cluster.server())).unwrap();
        let pod = client.pod(cluster.namespace(), "web");
        Self { cluster, kubelet, client, pod }
    }

    /// Waits until the client has no open connection and the kubelet no open stream.
    pub(crate) async fn wait_until_idle(&self) {
        until(|| self.client.transport().connections() == 0 && self.kubelet.open_streams() == 0).await;
    }

    /// Stops both; each waits for its tasks.
    pub(crate) async fn stop(self) {
        drop((self.client, self.pod));
        self.cluster.stop().await;
        self.kubelet.stop().await;
    }
}

/// Waits until the condition holds; panics after 30 seconds.
pub(crate) async fn until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(30), holds).await.expect("timed out waiting for the condition");
}

/// Reads to the end.
pub(crate) async fn all(mut output: impl AsyncRead + Unpin) -> String {
    let mut text = String::new();
    output.read_to_string(&mut text).await.unwrap();
    text
}

/// Reads exactly this many bytes.
pub(crate) async fn some(output: &mut (impl AsyncRead + Unpin), bytes: usize) -> String {
    let mut text = vec![0; bytes];
    output.read_exact(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}
