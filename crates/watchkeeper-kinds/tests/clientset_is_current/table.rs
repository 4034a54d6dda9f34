//! Reads the resource tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A resource and its names in Rust.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) verbs: String,
    /// Whether the embedded server supports it.
    pub(crate) embedded: bool,
    pub(crate) subresources: Vec<String>,
}

/// Returns the resources of both tables, in order.
pub(crate) fn resources() -> Vec<Resource> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let served = read(&crates.join("watchkeeper-apiserver/tables/resources.txt"), true);
    let others = read(&crates.join("watchkeeper-kinds/tables/resources.txt"), false);
    served.into_iter().chain(others).collect()
}

/// Returns the resources by group and version.
pub(crate) fn by_group() -> BTreeMap<String, BTreeMap<String, Vec<Resource>>> {
    let mut groups: BTreeMap<String, BTreeMap<String, Vec<Resource>>> = BTreeMap::new();
    for resource in resources() {
        let versions = groups.entry(resource.group.clone()).or_default();
        versions.entry(resource.version.clone()).or_default().push(resource);
    }
    groups
}

fn read(path: &Path, embedded: bool) -> Vec<Resource> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut resources: Vec<Resource> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["resource", group, version, plural, _, kind, scope, _, _, verbs, _, _] => {
                resources.push(Resource {
                    group: group.trim_matches('-').to_owned(),
                    version: version.to_owned(),
                    plural: plural.to_owned(),
                    kind: kind.to_owned(),
                    namespaced: scope == "namespaced",
                    verbs: verbs.to_owned(),
                    embedded,
                    subresources: Vec::new(),
                });
            }
            ["sub", name, _, _] => {
                resources.last_mut().unwrap().subresources.push(name.to_owned());
            }
            _ => panic!("{}: invalid row {line:?}", path.display()),
        }
    }
    resources
}

impl Resource {
    /// Returns whether the resource can be listed and watched.
    pub(crate) fn is_watched(&self) -> bool {
        let has = |verb| self.verbs.split(',').any(|it| it == verb);
        self.verbs == "all" || (has("list") && has("watch"))
    }

    /// Returns the group's name in client-go: `core`, `apps`, `rbac`.
    pub(crate) fn group_word(&self) -> &str {
        match self.group.as_str() {
            "" => "core",
            group => group.split('.').next().unwrap_or(group),
        }
    }

    /// Returns the module of the group's types.
    pub(crate) fn module(&self) -> &str {
        match self.group.as_str() {
            "internal.apiserver.k8s.io" => "apiserverinternal",
            _ => self.group_word(),
        }
    }

    /// `apps_v1`.
    pub(crate) fn accessor(&self) -> String {
        format!("{}_{}", self.group_word(), self.version)
    }

    /// `AppsV1`.
    pub(crate) fn client(&self) -> String {
        [self.group_word(), &self.version].map(capitalized).concat()
    }

    /// `apps/v1`, `v1`.
    pub(crate) fn group_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns the plural, split into the words of the kind: `network_policies`.
    pub(crate) fn method(&self) -> String {
        let letters: Vec<char> = self.kind.chars().collect();
        let begins = |at: usize| {
            let after_lower = at > 0 && letters[at - 1].is_lowercase();
            let before_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            at > 0 && letters[at].is_uppercase() && (after_lower || before_lower)
        };
        let mut method = String::new();
        for (at, letter) in self.plural.chars().enumerate() {
            if at < letters.len() && begins(at) {
                method.push('_');
            }
            method.push(letter);
        }
        method
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
