//! Groups of named tasks.

use std::collections::HashMap;
use std::future::Future;

use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::shutdown::Shutdown;

/// Tasks that are aborted when the group is dropped.
#[derive(Debug, Default)]
pub(super) struct Group {
    tasks: JoinSet<()>,
    names: HashMap<Id, String>,
}

impl Group {
    pub(super) fn spawn(&mut self, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(task).id();
        self.names.insert(id, name.to_owned());
    }

    /// Waits for all tasks. Those still running at the deadline are dropped and reported.
    pub(super) async fn finish(&mut self, deadline: Instant, shutdown: &Shutdown) {
        while let Ok(Some(ended)) = timeout_at(deadline, self.tasks.join_next_with_id()).await {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            self.names.remove(&id);
        }
        let mut left: Vec<_> = self.names.drain().map(|(_, name)| name).collect();
        left.sort_unstable();
        left.iter().for_each(|name| shutdown.overrun(name));
        self.tasks.shutdown().await;
    }
}
