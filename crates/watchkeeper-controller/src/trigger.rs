//! Triggers: turn changes of an informer's objects into keys on the work queue.

use std::sync::Arc;

use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::{Object, ObjectKey};
use watchkeeper_workqueue::{AddOpts, Priority, WorkQueue};

/// An informer to watch, and the mapping from its objects to keys of primary objects.
pub(crate) struct Trigger {
    pub(crate) informer: Informer,
    pub(crate) keys: Box<Keys>,
    pub(crate) predicate: Option<Box<Predicate>>,
    pub(crate) options: SubscriptionOptions,
}

pub(crate) type Keys = dyn Fn(&Object) -> Vec<ObjectKey> + Send + Sync;
pub(crate) type Predicate = dyn Fn(&Object, &Object) -> bool + Send + Sync;

impl Trigger {
    pub(crate) fn new(
        informer: &Informer,
        keys: impl Fn(&Object) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        let options = SubscriptionOptions::default();
        Self { informer: informer.clone(), keys: Box::new(keys), predicate: None, options }
    }

    /// Enqueues keys until the informer ends.
    pub(crate) async fn run(self, queue: WorkQueue<ObjectKey>) {
        let mut changes = self.informer.subscribe(self.options.clone());
        while let Some(change) = changes.next().await {
            let (keys, priority) = self.affected(&change);
            keys.into_iter().for_each(|key| queue.add_with_opts(key, AddOpts::priority(priority)));
        }
    }

    /// Returns the keys affected by a change, and their priority. Initial objects and resyncs have low
    /// priority.
    fn affected(&self, change: &Delta<Arc<Object>>) -> (Vec<ObjectKey>, Priority) {
        let keys = &self.keys;
        match change {
            Delta::Added { new, initial: true } | Delta::Resync(new) => (keys(new), Priority::Low),
            Delta::Added { new, initial: false } => (keys(new), Priority::Normal),
            Delta::Updated { old, new } => {
                let predicate = self.predicate.as_ref().is_none_or(|predicate| predicate(old, new));
                if predicate || is_replaced_or_terminating(old, new) {
                    // The keys of the old object too: a reference may have been removed.
                    (merge(keys(old), keys(new)), Priority::Normal)
                } else {
                    (Vec::new(), Priority::Normal)
                }
            }
            Delta::Deleted { old, last } => {
                let last = last.as_ref().map(|last| keys(last)).unwrap_or_default();
                (merge(keys(old), last), Priority::Normal)
            }
        }
    }
}

/// Returns whether deletion has begun, or the object was replaced by another of the same name. Predicates
/// cannot suppress either.
fn is_replaced_or_terminating(old: &Object, new: &Object) -> bool {
    old.metadata.deletion_timestamp() != new.metadata.deletion_timestamp()
        || old.metadata.uid() != new.metadata.uid()
}

fn merge(mut some: Vec<ObjectKey>, others: Vec<ObjectKey>) -> Vec<ObjectKey> {
    for other in others {
        if !some.contains(&other) {
            some.push(other);
        }
    }
    some
}
