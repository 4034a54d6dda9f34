//! Revisions: the annotations on replica sets that allow a rollback.

use std::collections::BTreeMap;

use super::bounds::Bounds;
use crate::view::ReplicaSet;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// Annotations that a replica set does not copy from its deployment.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "deprecated.deployment.rollback.to",
];

/// Maximum length of a revision history, in bytes.
const MAX_HISTORY_LENGTH: usize = 2000;

pub(super) type Annotations = BTreeMap<String, String>;

/// Returns the revision of a replica set: 0 if it has none, `None` if it is invalid.
pub(super) fn revision(set: &ReplicaSet) -> Option<i64> {
    set.metadata.annotations.get(REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// Returns the highest revision.
pub(super) fn highest<'a>(sets: impl Iterator<Item = &'a ReplicaSet>) -> i64 {
    sets.filter_map(revision).max().unwrap_or_default().max(0)
}

/// Returns an annotation as a non-negative number.
pub(super) fn number(set: &ReplicaSet, name: &str) -> Option<i32> {
    set.metadata.annotations.get(name)?.parse().ok().filter(|number| *number >= 0)
}

/// Returns the annotations of the new replica set at this revision, including those copied from its
/// deployment.
pub(super) fn renewed(of_set: &Annotations, of_deployment: &Annotations, revision: i64) -> Annotations {
    let mut all = of_set.clone();
    let handed_down = of_deployment.iter().filter(|(name, _)| !NOT_COPIED.contains(&name.as_str()));
    all.extend(handed_down.map(|(name, value)| (name.clone(), value.clone())));
    let before = of_set.get(REVISION);
    let Ok(number) = before.map_or(Ok(0), |before| if before.is_empty() { Ok(0) } else { before.parse() })
    else {
        return all; // not ours: left alone
    };
    if number < revision {
        all.insert(REVISION.to_owned(), revision.to_string());
        if let Some(before) = before
            && let Some(history) = longer(of_set.get(HISTORY).map_or("", String::as_str), before)
        {
            all.insert(HISTORY.to_owned(), history);
        }
    }
    all
}

/// Adds the deployment's sizes to the annotations.
pub(super) fn sized(mut annotations: Annotations, bounds: &Bounds) -> Annotations {
    annotations.insert(DESIRED.to_owned(), bounds.desired.to_string());
    annotations.insert(MOST.to_owned(), bounds.max().to_string());
    annotations
}

/// Appends a revision to a history and drops the oldest entries if it gets too long. Returns `None` if it
/// cannot fit.
fn longer(history: &str, revision: &str) -> Option<String> {
    if history.is_empty() {
        return Some(revision.to_owned());
    }
    let mut kept = history;
    while kept.len() + revision.len() + 1 > MAX_HISTORY_LENGTH {
        match kept.split_once(',') {
            Some((_, rest)) => kept = rest,
            None => return (revision.len() <= MAX_HISTORY_LENGTH).then(|| revision.to_owned()),
        }
    }
    Some(format!("{kept},{revision}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(all: &[(&str, &str)]) -> Annotations {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_new_set_copies_the_annotations_of_its_deployment() {
        let of_deployment =
            annotations(&[("a", "b"), (REVISION, "9"), (DESIRED, "9"), (NOT_COPIED[0], "{}")]);
        let all = renewed(&Annotations::new(), &of_deployment, 1);
        assert_eq!(all, annotations(&[("a", "b"), (REVISION, "1")]));
        let bounds = Bounds { desired: 4, surge: 1, unavailable: 1 };
        let sized = sized(all, &bounds);
        assert_eq!(sized, annotations(&[("a", "b"), (REVISION, "1"), (DESIRED, "4"), (MOST, "5")]));
    }

    #[test]
    fn a_reused_set_keeps_its_revision_history() {
        let nothing = Annotations::new();
        let first = annotations(&[(REVISION, "1")]);
        let again = renewed(&first, &nothing, 3);
        assert_eq!(again, annotations(&[(REVISION, "3"), (HISTORY, "1")]));
        let once_more = renewed(&again, &nothing, 5);
        assert_eq!(once_more, annotations(&[(REVISION, "5"), (HISTORY, "1,3")]));
        assert_eq!(renewed(&once_more, &nothing, 2), once_more, "revisions never decrease");
        let odd = annotations(&[(REVISION, "first")]);
        assert_eq!(
            renewed(&odd, &annotations(&[("a", "b")]), 2),
            annotations(&[(REVISION, "first"), ("a", "b")])
        );
    }

    #[test]
    fn a_long_history_drops_its_oldest_entries() {
        let long: Vec<String> = (1..=700).map(|number: i32| number.to_string()).collect();
        let long = long.join(",")[..1999].to_owned();
        let longer = longer(&long, "1000").unwrap();
        assert!(longer.len() <= MAX_HISTORY_LENGTH && longer.ends_with(",1000"), "{longer}");
        assert!(longer.starts_with("3,4,"), "{longer}");
    }
}
