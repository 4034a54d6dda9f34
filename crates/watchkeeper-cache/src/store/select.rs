//! Label selection: uses the narrowest requirement's index entries, so that the cost follows the size of the result.

use std::sync::Arc;

use watchkeeper_core::{Condition, LabelSelector, Object, ObjectKey, Requirement};

use super::postings::Postings;
use super::snapshot::Snapshot;

/// Initial number of keys read for each requirement while searching for the narrowest one.
const FIRST_BOUND: usize = 16;

pub(super) fn select(
    snapshot: &Snapshot,
    labels: &LabelSelector,
    namespace: Option<&str>,
) -> Vec<Arc<Object>> {
    let matches = |object: &&Arc<Object>| labels.matches(|key| object.metadata.label(key));
    match (candidates(&snapshot.state().labels, labels, namespace), namespace) {
        (Some(keys), _) => {
            keys.into_iter().filter_map(|key| snapshot.get(key)).filter(matches).cloned().collect()
        }
        (None, Some(namespace)) => snapshot.in_namespace(namespace).filter(matches).cloned().collect(),
        (None, None) => snapshot.iter().filter(matches).cloned().collect(),
    }
}

/// Returns the keys that satisfy the narrowest requirement, in order. Returns `None` if no requirement demands that a
/// label is present, so that every object has to be checked.
fn candidates<'a>(
    index: &'a Postings,
    labels: &LabelSelector,
    namespace: Option<&str>,
) -> Option<Vec<&'a ObjectKey>> {
    let narrowing = || labels.requirements().iter().filter(|requirement| narrows(requirement));
    narrowing().next()?;
    let mut bound = FIRST_BOUND;
    loop {
        for requirement in narrowing() {
            let mut keys = keys(index, requirement, namespace, bound);
            if keys.len() < bound {
                keys.sort_unstable(); // several values are read one after the other
                return Some(keys);
            }
        }
        bound *= 4;
    }
}

/// Returns whether only objects with the label can match.
fn narrows(requirement: &Requirement) -> bool {
    use Condition::{Equals, Exists, GreaterThan, In, LessThan};
    matches!(requirement.condition(), Equals(_) | In(_) | Exists | GreaterThan(_) | LessThan(_))
}

/// Returns the keys of at most `bound` objects that may satisfy a requirement.
fn keys<'a>(
    index: &'a Postings,
    requirement: &Requirement,
    namespace: Option<&str>,
    bound: usize,
) -> Vec<&'a ObjectKey> {
    let key = requirement.key();
    let of = |value: &str| -> Vec<&'a ObjectKey> {
        let text = format!("{key}={value}");
        match namespace {
            Some(namespace) => index.keys_in(&text, namespace).take(bound).collect(),
            None => index.keys(&text).take(bound).collect(),
        }
    };
    match requirement.condition() {
        Condition::Equals(value) => of(value),
        Condition::In(values) => values.iter().flat_map(|value| of(value)).take(bound).collect(),
        _ => {
            let in_scope = |key: &&ObjectKey| namespace.is_none_or(|wanted| key.namespace() == Some(wanted));
            index.keys_with_prefix(&format!("{key}=")).filter(in_scope).take(bound).collect()
        }
    }
}
