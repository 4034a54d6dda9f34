//! Sizes: computes the size of each replica set of a deployment.

use super::bounds::Bounds;

/// Size of a replica set. Wide integers, so that sums cannot overflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) wanted: i64,
    /// As last reported in its status, which may be stale.
    pub(super) available: i64,
}

/// Returns the size of the new set during a rollout: as large as the surge allows.
pub(super) fn grown(bounds: &Bounds, total: i64, new: i64) -> i64 {
    let room = bounds.max() - total;
    if room <= 0 {
        return new;
    }
    new + room.min(bounds.desired - new)
}

/// Returns the sizes of the old sets, oldest first, such that enough pods stay available.
///
/// Unavailable pods are removed first. While a set reports more available pods than it should have, nothing
/// shrinks.
pub(super) fn shrunk(bounds: &Bounds, old: &[Size], new: Size) -> Vec<i64> {
    let mut sizes: Vec<i64> = old.iter().map(|set| set.wanted).collect();
    let old_total: i64 = sizes.iter().sum();
    let unavailable_new = new.wanted - new.available;
    let mut may_go = old_total + new.wanted - bounds.min_available() - unavailable_new;
    let is_stale = old.iter().any(|set| set.available > set.wanted);
    if old_total == 0 || may_go <= 0 || is_stale {
        return sizes;
    }
    for (size, set) in sizes.iter_mut().zip(old) {
        let idle = (set.wanted - set.available).min(may_go);
        *size -= idle;
        may_go -= idle;
    }
    let available = old.iter().map(|set| set.available).sum::<i64>() + new.available;
    let mut may_go = (available - bounds.min_available()).max(0);
    for size in &mut sizes {
        let going = may_go.min(*size);
        *size -= going;
        may_go -= going;
    }
    sizes
}

/// A set among several that share a scaled deployment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) wanted: i64,
    /// Maximum number of pods of the deployment when the set was last scaled.
    pub(super) max_before: i64,
}

/// Returns the sizes when a deployment is scaled during a rollout: in proportion, largest first; the first
/// also gets the remainder.
pub(super) fn proportional(bounds: &Bounds, shares: &[Share]) -> Vec<i64> {
    let mut sizes: Vec<i64> = shares.iter().map(|share| share.wanted).collect();
    let allowed = if bounds.desired > 0 { bounds.max() } else { 0 };
    let to_add = allowed - sizes.iter().sum::<i64>();
    let mut added = 0;
    for (size, share) in sizes.iter_mut().zip(shares) {
        if *size == 0 || to_add == added {
            continue;
        }
        let left = to_add - added;
        let part = fraction(bounds, share);
        let part = if to_add > 0 { part.min(left) } else { part.max(left) };
        *size += part;
        added += part;
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    sizes
}

/// Returns the proportional change of one set.
fn fraction(bounds: &Bounds, share: &Share) -> i64 {
    if bounds.desired == 0 {
        return -share.wanted;
    }
    if share.max_before == 0 {
        return 0;
    }
    let before = i128::from(share.max_before);
    let twice = 2 * i128::from(share.wanted) * i128::from(bounds.max());
    let nearest = (twice + before).div_euclid(2 * before);
    i64::try_from(nearest).unwrap_or(i64::MAX) - share.wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(desired: i64, surge: i64, unavailable: i64) -> Bounds {
        Bounds { desired, surge, unavailable }
    }

    fn sizes<const N: usize>(all: [(i64, i64); N]) -> [Size; N] {
        all.map(|(wanted, available)| Size { wanted, available })
    }

    #[test]
    fn the_new_set_grows_within_the_surge() {
        let cases = [
            (bounds(10, 3, 2), 10, 0, 3),
            (bounds(10, 3, 2), 13, 3, 3),
            (bounds(10, 3, 2), 11, 3, 5),
            (bounds(10, 3, 2), 9, 9, 10),
            (bounds(10, 0, 1), 10, 0, 0),
            (bounds(3, 1, 0), 0, 0, 3),
        ];
        for (bounds, total, new, expected) in cases {
            assert_eq!(grown(&bounds, total, new), expected, "{bounds:?} of {total}, {new} new");
        }
    }

    #[test]
    fn old_sets_shrink_while_enough_pods_stay_available() {
        let new = |wanted, available| Size { wanted, available };
        let b = bounds(10, 3, 2);
        // Bounds, old sets, new set, and the expected sizes of the old sets.
        let cases: Vec<(Bounds, Vec<Size>, Size, Vec<i64>)> = vec![
            (b, sizes([(10, 10)]).into(), new(3, 0), vec![8]),
            (b, sizes([(8, 8)]).into(), new(5, 0), vec![8]),
            (b, sizes([(8, 8)]).into(), new(5, 5), vec![3]),
            (b, sizes([(8, 7)]).into(), new(5, 0), vec![8]),
            // Rollback: pods that were never available go, the rest stays.
            (b, sizes([(5, 0)]).into(), new(8, 8), vec![0]),
            (b, sizes([(5, 0), (8, 7)]).into(), new(0, 0), vec![0, 8]),
            // Oldest first.
            (b, sizes([(4, 4), (6, 6)]).into(), new(3, 3), vec![0, 5]),
            // A set that has not shrunk yet.
            (b, sizes([(8, 10)]).into(), new(3, 3), vec![8]),
            (bounds(3, 1, 0), sizes([(3, 3)]).into(), new(1, 0), vec![3]),
            (bounds(3, 1, 0), sizes([(3, 3)]).into(), new(1, 1), vec![2]),
        ];
        for (bounds, old, new, expected) in cases {
            assert_eq!(shrunk(&bounds, &old, new), expected, "{bounds:?}, {old:?}, {new:?}");
        }
    }

    #[test]
    fn scaling_during_a_rollout_is_proportional() {
        let share = |wanted, max_before| Share { wanted, max_before };
        let cases = [
            // 10 + 3 before, and 20 + 5 after.
            (bounds(20, 5, 5), vec![share(8, 13), share(5, 13)], vec![15, 10]),
            (bounds(5, 2, 1), vec![share(8, 13), share(5, 13)], vec![4, 3]),
            (bounds(10, 3, 2), vec![share(8, 13), share(5, 13)], vec![8, 5]),
            (bounds(0, 0, 0), vec![share(8, 13), share(5, 13)], vec![0, 0]),
            // The former maximum is unknown: the largest set gets everything.
            (bounds(10, 2, 2), vec![share(5, 0), share(3, 0)], vec![9, 3]),
        ];
        for (bounds, shares, expected) in cases {
            let sizes = proportional(&bounds, &shares);
            assert_eq!(sizes, expected, "{bounds:?}, {shares:?}");
        }
    }
}
