//! Predicates: which updates matter.
//!
//! A predicate is asked of updates alone, so that whatever it says, nobody misses that an object has come or gone.
//! For the same reason those of this module let pass that an object was asked to go.

use watchkeeper_core::Object;

/// The desired state has changed: not the status alone, nor the metadata. Only for kinds that count generations.
pub fn generation_changed(old: &Object, new: &Object) -> bool {
    old.head.generation() != new.head.generation() || is_going(old, new)
}

/// A label has changed.
pub fn labels_changed(old: &Object, new: &Object) -> bool {
    let sorted = |object: &Object| {
        let mut all: Vec<(String, String)> =
            object.head.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        all.sort_unstable();
        all
    };
    sorted(old) != sorted(new) || is_going(old, new)
}

fn is_going(old: &Object, new: &Object) -> bool {
    old.head.deleted() != new.head.deleted() || old.head.uid() != new.head.uid()
}
