//! Suggestions for misspelled names.

/// Maximum number of suggestions.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the known names most similar to `name`, most similar first.
pub(super) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    let max_distance = (name.chars().count() / 3).clamp(1, 3);
    let mut found: Vec<(usize, &str)> = known
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= 2 * max_distance)
        .map(|candidate| (distance(&name, candidate), candidate))
        // A short name that shares no letter with `name` is not a misspelling of it.
        .filter(|(distance, candidate)| *distance <= max_distance && *distance < candidate.chars().count())
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// Returns the edit distance, where swapping neighbours is one edit (Damerau-Levenshtein, restricted).
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
    fn similar_names_are_suggested() {
        let known = ["pods", "po", "deployments", "deploy", "services", "svc", "configmaps", "cm"];
        for (name, expected) in [
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
            assert_eq!(suggest(name, known.into_iter()), expected, "{name}");
        }
    }
}
