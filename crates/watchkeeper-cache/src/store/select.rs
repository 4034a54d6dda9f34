//! Select: the objects that a label selector selects, for what the answer costs.

use std::sync::Arc;

use watchkeeper_core::{Condition, LabelSelector, Object, ObjectKey, Requirement};

use super::postings::Postings;
use super::snapshot::Snapshot;

/// How many keys of each requirement are looked at first, to find the one that leaves the fewest.
const FIRST_LOOK: usize = 16;

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

/// The keys that the narrowest requirement leaves, in order; `None` if no requirement says what must be there.
fn candidates<'a>(
    index: &'a Postings,
    labels: &LabelSelector,
    namespace: Option<&str>,
) -> Option<Vec<&'a ObjectKey>> {
    let narrowing = || labels.requirements().iter().filter(|requirement| narrows(requirement));
    narrowing().next()?;
    let mut bound = FIRST_LOOK;
    loop {
        for requirement in narrowing() {
            let mut keys = keys(index, requirement, namespace, bound);
            if keys.len() < bound {
                keys.sort_unstable(); // those of several values come value by value
                return Some(keys);
            }
        }
        bound *= 4;
    }
}

/// Whether only objects that have the label can match.
fn narrows(requirement: &Requirement) -> bool {
    use Condition::{Equals, Exists, GreaterThan, In, LessThan};
    matches!(requirement.condition(), Equals(_) | In(_) | Exists | GreaterThan(_) | LessThan(_))
}

/// Keys of objects that may meet a requirement, no more than a bound.
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
            let there = |key: &&ObjectKey| namespace.is_none_or(|wanted| key.namespace() == Some(wanted));
            index.keys_beginning(&format!("{key}=")).filter(there).take(bound).collect()
        }
    }
}
