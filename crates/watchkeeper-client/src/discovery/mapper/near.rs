//! Near names: what somebody may have meant.

/// How many are named.
const MOST: usize = 3;

/// The known names that are nearest to what was said, nearest first; none that is far from it.
pub(super) fn near<'a>(said: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let said = said.to_lowercase();
    let most = (said.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = known
        .filter(|name| name.len().abs_diff(said.len()) <= 2 * most)
        .map(|name| (distance(&said, name), name))
        // A short name of another length and other letters is no mistyped one.
        .filter(|(distance, name)| *distance <= most && *distance < name.chars().count())
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect()
}

/// How many letters must be added, removed, changed or swapped with their neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![vec![0; other.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=other.len() {
            rows[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => {
                    let change = usize::from(one[i - 1] != other[j - 1]);
                    let mut least =
                        (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
                    if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                        least = least.min(rows[i - 2][j - 2] + 1);
                    }
                    least
                }
            };
        }
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_was_meant() {
        let known = ["pods", "po", "deployments", "deploy", "services", "svc", "configmaps", "cm"];
        for (said, meant) in [
            ("pdos", vec!["pods"]),
            ("Pods", vec!["pods"]),
            ("deploymnets", vec!["deployments"]),
            ("depoy", vec!["deploy"]),
            ("configmap", vec!["configmaps"]),
            ("sv", vec!["svc"]),
            ("gadgets", vec![]),
            ("xx", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(near(said, known.into_iter()), meant, "{said}");
        }
    }
}
