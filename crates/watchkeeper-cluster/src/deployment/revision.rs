//! Revisions: what is written on replica sets for those who want to go back.

use std::collections::BTreeMap;

use super::bounds::Bounds;
use crate::view::ReplicaSet;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";

/// What a replica set does not take over from its deployment.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "deprecated.deployment.rollback.to",
];

/// A history is no longer than this, in bytes.
const LONGEST_HISTORY: usize = 2000;

pub(super) type Annotations = BTreeMap<String, String>;

/// The revision of a replica set: 0 for one that has none, `None` for one that cannot be read.
pub(super) fn revision(set: &ReplicaSet) -> Option<i64> {
    set.metadata.annotations.get(REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// The highest revision there is.
pub(super) fn highest<'a>(sets: impl Iterator<Item = &'a ReplicaSet>) -> i64 {
    sets.filter_map(revision).max().unwrap_or_default().max(0)
}

/// A number that a replica set was given.
pub(super) fn number(set: &ReplicaSet, name: &str) -> Option<i32> {
    set.metadata.annotations.get(name)?.parse().ok().filter(|number| *number >= 0)
}

/// What the new replica set says once it has this revision, and what its deployment says.
pub(super) fn renewed(of_set: &Annotations, of_deployment: &Annotations, revision: i64) -> Annotations {
    let mut all = of_set.clone();
    let handed_down = of_deployment.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    all.extend(handed_down.map(|(name, value)| (name.clone(), value.clone())));
    let before = of_set.get(REVISION);
    let Ok(number) = before.map_or(Ok(0), |before| if before.is_empty() { Ok(0) } else { before.parse() })
    else {
        return all; // somebody else's: it is left alone
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

/// With the numbers of its deployment.
pub(super) fn sized(mut annotations: Annotations, bounds: &Bounds) -> Annotations {
    annotations.insert(DESIRED.to_owned(), bounds.desired.to_string());
    annotations.insert(MOST.to_owned(), bounds.most().to_string());
    annotations
}

/// A history with one more revision, the oldest of which make way. `None` if there is no way for it.
fn longer(history: &str, revision: &str) -> Option<String> {
    if history.is_empty() {
        return Some(revision.to_owned());
    }
    let mut kept = history;
    while kept.len() + revision.len() + 1 > LONGEST_HISTORY {
        match kept.split_once(',') {
            Some((_, rest)) => kept = rest,
            None => return (revision.len() <= LONGEST_HISTORY).then(|| revision.to_owned()),
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
    fn a_new_set_takes_over_what_is_not_its_own() {
        let of_deployment = annotations(&[("a", "b"), (REVISION, "9"), (DESIRED, "9"), (OWN[0], "{}")]);
        let all = renewed(&Annotations::new(), &of_deployment, 1);
        assert_eq!(all, annotations(&[("a", "b"), (REVISION, "1")]));
        let bounds = Bounds { desired: 4, surge: 1, unavailable: 1 };
        let sized = sized(all, &bounds);
        assert_eq!(sized, annotations(&[("a", "b"), (REVISION, "1"), (DESIRED, "4"), (MOST, "5")]));
    }

    #[test]
    fn a_set_that_comes_again_remembers_what_it_was() {
        let nothing = Annotations::new();
        let first = annotations(&[(REVISION, "1")]);
        let again = renewed(&first, &nothing, 3);
        assert_eq!(again, annotations(&[(REVISION, "3"), (HISTORY, "1")]));
        let once_more = renewed(&again, &nothing, 5);
        assert_eq!(once_more, annotations(&[(REVISION, "5"), (HISTORY, "1,3")]));
        assert_eq!(renewed(&once_more, &nothing, 2), once_more, "no revision is taken back");
        let odd = annotations(&[(REVISION, "first")]);
        assert_eq!(
            renewed(&odd, &annotations(&[("a", "b")]), 2),
            annotations(&[(REVISION, "first"), ("a", "b")])
        );
    }

    #[test]
    fn a_history_forgets_its_beginning() {
        let long: Vec<String> = (1..=700).map(|number: i32| number.to_string()).collect();
        let long = long.join(",")[..1999].to_owned();
        let longer = longer(&long, "1000").unwrap();
        assert!(longer.len() <= LONGEST_HISTORY && longer.ends_with(",1000"), "{longer}");
        assert!(longer.starts_with("3,4,"), "{longer}");
    }
}
