//! A world: an embedded server of one's own, so that what is asked in one way does not know of the others.

use watchkeeper_testkit::TestCluster;

use crate::way::Place;

pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) place: Place,
}

impl World {
    pub(crate) async fn start() -> Self {
        let cluster = TestCluster::start().await.unwrap();
        let place = Place::new(cluster.kubeconfig_path(), cluster.namespace());
        Self { cluster, place }
    }

    pub(crate) async fn stop(self) {
        self.cluster.stop().await;
    }
}
