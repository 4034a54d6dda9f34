//! A separate embedded server per scenario.

use watchkeeper_testkit::TestCluster;

use crate::access::Target;

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) target: Target,
}

impl World {
    pub(crate) async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let target = Target::new(cluster.kubeconfig_path(), cluster.namespace());
        Self { cluster, target }
    }

    pub(crate) async fn stop(self) {
        self.cluster.stop().await;
    }
}
