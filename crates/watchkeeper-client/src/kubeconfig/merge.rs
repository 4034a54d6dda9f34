//! Merges kubeconfig files.

use std::collections::BTreeMap;

use super::Kubeconfig;

impl Kubeconfig {
    /// Adds the entries of a file of lower precedence; existing entries stay unchanged (`kubeconfig.K1`).
    pub fn merge(&mut self, lower: Self) {
        keep_first(&mut self.clusters, lower.clusters);
        keep_first(&mut self.users, lower.users);
        keep_first(&mut self.contexts, lower.contexts);
        if self.current_context.is_empty() {
            self.current_context = lower.current_context;
        }
    }
}

fn keep_first<T>(entries: &mut BTreeMap<String, T>, lower: BTreeMap<String, T>) {
    for (name, value) in lower {
        entries.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_with_a_name_wins_as_a_whole() {
        let parse = |text| Kubeconfig::parse(text).unwrap();
        let mut config =
            parse("clusters: [{name: a, cluster: {server: 'http://one'}}]\ncontexts: [{name: x}]");
        config.merge(parse(
            "clusters: [{name: a, cluster: {server: 'http://two', proxy-url: 'http://p'}}, {name: b}]\ncurrent-context: x",
        ));
        config.merge(parse("current-context: y"));
        assert_eq!(config.clusters["a"].server, "http://one");
        assert_eq!(config.clusters["a"].proxy_url, "", "entries are not combined");
        assert_eq!(config.clusters.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(config.current_context, "x");
    }
}
