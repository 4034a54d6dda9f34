//! Filter: selects the objects that a handler is notified of.

use std::fmt;
use std::sync::Arc;

use watchkeeper_core::{LabelSelector, Object};

use crate::delta::Delta;

/// A filter of the objects that a handler is notified of; client-go's `FilteringResourceEventHandler`.
///
/// An update that makes an object match is delivered as an addition, one that makes it no longer match as a deletion.
/// The predicate runs on the writer's thread: it must be fast and deterministic.
///
/// ```
/// use watchkeeper_cache::handler::Filter;
///
/// let shop = Filter::namespace("shop").and(Filter::labels("app=web".parse()?));
/// let labelled = Filter::of(|object| object.metadata.labels().len() > 0);
/// # Ok::<(), watchkeeper_core::SelectorError>(())
/// ```
#[derive(Clone, Default)]
pub struct Filter {
    passes: Option<Arc<Passes>>,
}

type Passes = dyn Fn(&Object) -> bool + Send + Sync;

impl Filter {
    /// Selects the objects for which a function returns true.
    pub fn of(passes: impl Fn(&Object) -> bool + Send + Sync + 'static) -> Self {
        Self { passes: Some(Arc::new(passes)) }
    }

    /// Selects the objects in a namespace.
    pub fn namespace(namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        Self::of(move |object| object.metadata.key().namespace() == Some(&namespace))
    }

    /// Selects the objects that match a label selector.
    pub fn labels(selector: LabelSelector) -> Self {
        Self::of(move |object| selector.matches(|key| object.metadata.label(key)))
    }

    /// Selects the objects that pass both filters.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::of(move |object| self.passes(object) && other.passes(object))
    }

    pub(super) fn passes(&self, object: &Object) -> bool {
        self.passes.as_ref().is_none_or(|passes| passes(object))
    }

    /// Returns the delta as it appears to a handler that sees only matching objects.
    pub(super) fn apply(&self, delta: &Delta<Arc<Object>>) -> Option<Delta<Arc<Object>>> {
        if self.passes.is_none() {
            return Some(delta.clone());
        }
        match delta {
            Delta::Updated { old, new } => match (self.passes(old), self.passes(new)) {
                (true, true) => Some(delta.clone()),
                (false, true) => Some(Delta::Added { new: new.clone(), initial: false }),
                (true, false) => Some(Delta::Deleted { old: old.clone(), last: Some(new.clone()) }),
                (false, false) => None,
            },
            Delta::Deleted { old, .. } => self.passes(old).then(|| delta.clone()),
            Delta::Added { new, .. } | Delta::Resync(new) => self.passes(new).then(|| delta.clone()),
        }
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.passes.is_some() { "Filter(some)" } else { "Filter(all)" })
    }
}
