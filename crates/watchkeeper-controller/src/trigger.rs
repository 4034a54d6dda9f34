//! Triggers: which keys a change is about.

use std::sync::Arc;

use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::{Object, ObjectKey};
use watchkeeper_workqueue::{Priority, WorkQueue};

/// Whose changes lead to which keys.
pub(crate) struct Trigger {
    pub(crate) informer: Informer,
    pub(crate) keys: Box<Keys>,
    pub(crate) matters: Option<Box<Matters>>,
    pub(crate) options: SubscriptionOptions,
}

pub(crate) type Keys = dyn Fn(&Object) -> Vec<ObjectKey> + Send + Sync;
pub(crate) type Matters = dyn Fn(&Object, &Object) -> bool + Send + Sync;

impl Trigger {
    pub(crate) fn new(
        informer: &Informer,
        keys: impl Fn(&Object) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Self {
        let options = SubscriptionOptions::default();
        Self { informer: informer.clone(), keys: Box::new(keys), matters: None, options }
    }

    /// Queues keys, until the informer ends.
    pub(crate) async fn run(self, queue: WorkQueue<ObjectKey>) {
        let mut changes = self.informer.subscribe(self.options.clone());
        while let Some(change) = changes.next().await {
            let (keys, priority) = self.about(&change);
            keys.into_iter().for_each(|key| queue.add_as(key, priority));
        }
    }

    /// Which keys a change is about, and how urgent it is. What was there already, or has not changed, is not.
    fn about(&self, change: &Delta<Arc<Object>>) -> (Vec<ObjectKey>, Priority) {
        let keys = &self.keys;
        match change {
            Delta::Added { new, initial: true } | Delta::Resync(new) => (keys(new), Priority::Low),
            Delta::Added { new, initial: false } => (keys(new), Priority::Normal),
            Delta::Updated { old, new } => {
                let matters = self.matters.as_ref().is_none_or(|matters| matters(old, new));
                match matters || is_going(old, new) {
                    // Also whoever it was about before.
                    true => (both(keys(old), keys(new)), Priority::Normal),
                    false => (Vec::new(), Priority::Normal),
                }
            }
            Delta::Deleted { old, last } => {
                let last = last.as_ref().map(|last| keys(last)).unwrap_or_default();
                (both(keys(old), last), Priority::Normal)
            }
        }
    }
}

/// It was asked to go, or has gone and another has come, which nobody may pass over.
fn is_going(old: &Object, new: &Object) -> bool {
    old.head.deleted() != new.head.deleted() || old.head.uid() != new.head.uid()
}

fn both(mut some: Vec<ObjectKey>, others: Vec<ObjectKey>) -> Vec<ObjectKey> {
    for other in others {
        if !some.contains(&other) {
            some.push(other);
        }
    }
    some
}
