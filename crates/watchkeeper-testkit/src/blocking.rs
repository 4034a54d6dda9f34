//! Blocking cluster: a test cluster for code that is not async.

use std::future::Future;
use std::ops::Deref;

use tokio::runtime::{Builder, Runtime};

use crate::{ClusterError, TestCluster};

/// A [`TestCluster`] with a runtime of its own. Async methods are called through [`block_on`](Self::block_on).
pub struct BlockingCluster {
    /// `None` once stopped or dropped.
    running: Option<(TestCluster, Runtime)>,
}

impl BlockingCluster {
    pub(crate) fn start() -> Result<Self, ClusterError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(ClusterError::Runtime)?;
        let cluster = runtime.block_on(TestCluster::start())?;
        Ok(Self { running: Some((cluster, runtime)) })
    }

    /// Runs a future on the runtime of the cluster. Panics in async code.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.running().1.block_on(future)
    }

    /// Stops the cluster and waits until it has. Panics in async code; dropping does not.
    pub fn stop(mut self) {
        if let Some((cluster, runtime)) = self.running.take() {
            runtime.block_on(cluster.stop());
        }
    }

    fn running(&self) -> &(TestCluster, Runtime) {
        self.running.as_ref().expect("taken only by `stop` and `drop`")
    }
}

impl Deref for BlockingCluster {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.running().0
    }
}

impl Drop for BlockingCluster {
    fn drop(&mut self) {
        if let Some((cluster, runtime)) = self.running.take() {
            drop(cluster);
            runtime.shutdown_background(); // does not block, so that it can be dropped in async code
        }
    }
}
