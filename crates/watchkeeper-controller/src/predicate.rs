//! Predicates: which updates matter.
//!
//! A predicate is asked of updates alone, and not of those by which an object is asked to go or is replaced by
//! another of its name. So whatever it says, alone or with [`and`], [`or`] and [`not`], nobody misses that an object
//! has come or goes.
//!
//! ```
//! use watchkeeper_controller::predicate::{annotations_changed, generation_changed, or};
//!
//! # fn example(controller: watchkeeper_controller::Controller) -> watchkeeper_controller::Controller {
//! controller.when(or(generation_changed, annotations_changed))
//! # }
//! ```

use watchkeeper_core::Object;

/// The desired state has changed: not the status alone, nor the metadata. Only for kinds that count generations.
pub fn generation_changed(old: &Object, new: &Object) -> bool {
    old.head.generation() != new.head.generation()
}

/// A label has changed.
pub fn labels_changed(old: &Object, new: &Object) -> bool {
    sorted(old.head.labels()) != sorted(new.head.labels())
}

/// An annotation has changed. Only where annotations are kept: an informer whose source leaves them out has none.
pub fn annotations_changed(old: &Object, new: &Object) -> bool {
    sorted(old.head.annotations()) != sorted(new.head.annotations())
}

/// Both matter.
pub fn and(
    one: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| one(old, new) && other(old, new)
}

/// One of them matters, or both.
pub fn or(
    one: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| one(old, new) || other(old, new)
}

/// What does not matter to another.
pub fn not(
    other: impl Fn(&Object, &Object) -> bool + Send + Sync + 'static,
) -> impl Fn(&Object, &Object) -> bool + Send + Sync + 'static {
    move |old, new| !other(old, new)
}

fn sorted<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<_> = pairs.collect();
    all.sort_unstable();
    all
}
