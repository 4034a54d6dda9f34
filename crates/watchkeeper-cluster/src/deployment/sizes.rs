//! Sizes: how many replicas each replica set of a deployment is to have.

use super::bounds::Bounds;

/// How large a replica set is. Numbers are wide, so that sums of what users write stay numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) wanted: i64,
    /// As it says itself, which may be a while ago.
    pub(super) available: i64,
}

/// How many the new set is to have while others are there: as many as there is room for.
pub(super) fn grown(bounds: &Bounds, total: i64, new: i64) -> i64 {
    let room = bounds.most() - total;
    if room <= 0 {
        return new;
    }
    new + room.min(bounds.desired - new)
}

/// How many the old sets are to have, oldest first, so that enough go on serving.
///
/// What does not serve goes first, as nobody misses it. What was not seen to have shrunk yet is waited for.
pub(super) fn shrunk(bounds: &Bounds, old: &[Size], new: Size) -> Vec<i64> {
    let mut sizes: Vec<i64> = old.iter().map(|set| set.wanted).collect();
    let old_total: i64 = sizes.iter().sum();
    let unavailable_new = new.wanted - new.available;
    let mut may_go = old_total + new.wanted - bounds.least() - unavailable_new;
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
    let mut may_go = (available - bounds.least()).max(0);
    for size in &mut sizes {
        let going = may_go.min(*size);
        *size -= going;
        may_go -= going;
    }
    sizes
}

/// A set among several that share what is added to a deployment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) wanted: i64,
    /// How many there might be in all when it was last scaled.
    pub(super) most_before: i64,
}

/// How many each is to have when a deployment is scaled while it rolls: in proportion, the largest first, which also
/// gets what is left over.
pub(super) fn proportional(bounds: &Bounds, shares: &[Share]) -> Vec<i64> {
    let mut sizes: Vec<i64> = shares.iter().map(|share| share.wanted).collect();
    let allowed = if bounds.desired > 0 { bounds.most() } else { 0 };
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

/// What a set would have more, or less, in proportion.
fn fraction(bounds: &Bounds, share: &Share) -> i64 {
    if bounds.desired == 0 {
        return -share.wanted;
    }
    if share.most_before == 0 {
        return 0;
    }
    let before = i128::from(share.most_before);
    let twice = 2 * i128::from(share.wanted) * i128::from(bounds.most());
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
    fn the_new_set_grows_into_what_room_there_is() {
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
    fn old_sets_shrink_as_far_as_enough_go_on_serving() {
        let new = |wanted, available| Size { wanted, available };
        let b = bounds(10, 3, 2);
        // Bounds, the old sets, the new one: what the old ones are to have.
        let cases: Vec<(Bounds, Vec<Size>, Size, Vec<i64>)> = vec![
            (b, sizes([(10, 10)]).into(), new(3, 0), vec![8]),
            (b, sizes([(8, 8)]).into(), new(5, 0), vec![8]),
            (b, sizes([(8, 8)]).into(), new(5, 5), vec![3]),
            (b, sizes([(8, 7)]).into(), new(5, 0), vec![8]),
            // Rolled back: what never served goes, and the rest stays.
            (b, sizes([(5, 0)]).into(), new(8, 8), vec![0]),
            (b, sizes([(5, 0), (8, 7)]).into(), new(0, 0), vec![0, 8]),
            // The oldest first.
            (b, sizes([(4, 4), (6, 6)]).into(), new(3, 3), vec![0, 5]),
            // One that has not shrunk yet.
            (b, sizes([(8, 10)]).into(), new(3, 3), vec![8]),
            (bounds(3, 1, 0), sizes([(3, 3)]).into(), new(1, 0), vec![3]),
            (bounds(3, 1, 0), sizes([(3, 3)]).into(), new(1, 1), vec![2]),
        ];
        for (bounds, old, new, expected) in cases {
            assert_eq!(shrunk(&bounds, &old, new), expected, "{bounds:?}, {old:?}, {new:?}");
        }
    }

    #[test]
    fn what_is_added_while_rolling_is_shared() {
        let share = |wanted, most_before| Share { wanted, most_before };
        let cases = [
            // 10 + 3 before, and 20 + 5 after.
            (bounds(20, 5, 5), vec![share(8, 13), share(5, 13)], vec![15, 10]),
            (bounds(5, 2, 1), vec![share(8, 13), share(5, 13)], vec![4, 3]),
            (bounds(10, 3, 2), vec![share(8, 13), share(5, 13)], vec![8, 5]),
            (bounds(0, 0, 0), vec![share(8, 13), share(5, 13)], vec![0, 0]),
            // Nothing is known of before: the largest gets it all.
            (bounds(10, 2, 2), vec![share(5, 0), share(3, 0)], vec![9, 3]),
        ];
        for (bounds, shares, expected) in cases {
            let sizes = proportional(&bounds, &shares);
            assert_eq!(sizes, expected, "{bounds:?}, {shares:?}");
        }
    }
}
