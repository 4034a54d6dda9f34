//! Groups: tasks that are waited for, by name.

use std::collections::HashMap;
use std::future::Future;

use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::end::End;

/// Tasks that end with their group: when it is dropped, so are they.
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

    /// Waits for all. Those that have not ended by then are dropped, and told of.
    pub(super) async fn finish(&mut self, deadline: Instant, end: &End) {
        while let Ok(Some(ended)) = timeout_at(deadline, self.tasks.join_next_with_id()).await {
            let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
            self.names.remove(&id);
        }
        let mut left: Vec<_> = self.names.drain().map(|(_, name)| name).collect();
        left.sort_unstable();
        left.iter().for_each(|name| end.overrun(name));
        self.tasks.shutdown().await;
    }
}
