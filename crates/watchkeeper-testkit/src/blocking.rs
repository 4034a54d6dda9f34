//! Blocking cluster: the same for code that is not async.

use std::future::Future;
use std::ops::Deref;

use tokio::runtime::{Builder, Runtime};

use crate::{ClusterError, TestCluster};

/// A cluster on a thread of its own. It can be asked all that a [`TestCluster`] can; what is async goes
/// through [`block_on`](Self::block_on).
pub struct BlockingCluster {
    /// There until this is stopped or dropped.
    running: Option<(TestCluster, Runtime)>,
}

impl BlockingCluster {
    pub(crate) fn start() -> Result<Self, ClusterError> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(ClusterError::Runtime)?;
        let cluster = runtime.block_on(TestCluster::start())?;
        Ok(Self { running: Some((cluster, runtime)) })
    }

    /// Waits for something of this cluster, or of a client of it. It panics in async code, which has a
    /// runtime already.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.running().1.block_on(future)
    }

    /// Stops, and returns once everything has ended. It panics in async code; a drop does not.
    pub fn stop(mut self) {
        if let Some((cluster, runtime)) = self.running.take() {
            runtime.block_on(cluster.stop());
        }
    }

    fn running(&self) -> &(TestCluster, Runtime) {
        self.running.as_ref().expect("only a stop and a drop take it, and nobody has it after them")
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
            runtime.shutdown_background(); // does not wait, so that it can be dropped anywhere
        }
    }
}
