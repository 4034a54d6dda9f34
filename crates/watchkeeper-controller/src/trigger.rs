//! Triggers: which keys a change is about.

use std::sync::Arc;

use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::SubscriptionOptions;
use watchkeeper_core::{GroupVersionKind, Object, ObjectKey};
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
                match matters {
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

/// An object by its own key.
pub(crate) fn itself(object: &Object) -> Vec<ObjectKey> {
    vec![object.head.key().clone()]
}

/// The object of this kind that manages another.
pub(crate) fn controller_of(kind: &GroupVersionKind, object: &Object) -> Option<ObjectKey> {
    let owner = object.head.controller()?;
    // An owner of another version is the same object.
    let (group, _) = owner.api_version.rsplit_once('/').unwrap_or(("", owner.api_version));
    if owner.kind != kind.kind || group != kind.group {
        return None;
    }
    Some(match object.head.key().namespace() {
        Some(namespace) => ObjectKey::namespaced(namespace, owner.name),
        None => ObjectKey::cluster(owner.name),
    })
}

fn both(mut some: Vec<ObjectKey>, others: Vec<ObjectKey>) -> Vec<ObjectKey> {
    for other in others {
        if !some.contains(&other) {
            some.push(other);
        }
    }
    some
}
