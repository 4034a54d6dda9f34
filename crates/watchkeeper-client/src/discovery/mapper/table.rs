//! Lookup table of all resource names.

use std::collections::{HashMap, HashSet};

use watchkeeper_core::{GroupKind, GroupResource, GroupVersion, GroupVersionResource};

use super::super::{ApiGroup, ApiResource, Discovered};
use super::suggest::suggest;
use super::{MapError, Mapping, PartialResource};

/// A lookup table for one [`Discovered`]. Lookups make no requests.
///
/// If several group versions match, the core group's `v1` has the highest priority, then groups in the server's order,
/// each with its preferred version first.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// In the server's order.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// Priority; lower is preferred.
    rank: usize,
    mapping: Mapping,
    short_names: Vec<String>,
    categories: Vec<String>,
}

impl Entry {
    fn has_name(&self, name: &str) -> bool {
        self.mapping.resource.resource == name || self.mapping.singular == name
    }
}

/// The expansion of a short name.
pub(super) struct Expanded {
    pub(super) partial: PartialResource,
    /// Other resources of lower priority with the same short name.
    pub(super) others: Vec<GroupResource>,
}

impl Table {
    /// Creates a table of all discovered resources.
    pub fn new(found: &Discovered) -> Self {
        let ranks = ranks(&found.groups);
        let entries = found.resources().map(|(of, resource)| Entry {
            rank: ranks.get(&of).copied().unwrap_or(usize::MAX),
            mapping: Mapping {
                resource: of.resource(&*resource.name),
                kind: of.kind(&*resource.kind.kind),
                singular: singular(resource),
                namespaced: resource.namespaced,
            },
            short_names: resource.short_names.clone(),
            categories: resource.categories.clone(),
        });
        Self { entries: entries.collect() }
    }

    /// Resolves a kubectl argument: `po`, `Deployment`, `deployments.apps`, `deploy.v1.apps`.
    ///
    /// A short name resolves to a resource in any version, as in kubectl.
    ///
    /// # Errors
    /// If nothing matches, or several resources with the same priority.
    pub fn argument(&self, argument: &str) -> Result<Mapping, MapError> {
        let readings = PartialResource::readings(argument);
        for reading in &readings {
            match self.resource(reading) {
                Err(error) if error.is_no_match() => {}
                result => return result,
            }
        }
        for reading in &readings {
            let kind = GroupKind { group: reading.group.clone(), kind: reading.resource.clone() };
            let version = Some(&*reading.version).filter(|version| !version.is_empty());
            match self.kind(&kind, version.as_slice()) {
                Err(error) if error.is_no_match() => {}
                result => return result,
            }
        }
        let in_group = readings.into_iter().last().unwrap_or_default();
        let suggestions = self.suggest(&in_group.resource);
        Err(MapError::NoResourceType { resource: in_group.resource, group: in_group.group, suggestions })
    }

    /// Resolves a plural, singular or short name.
    ///
    /// # Errors
    /// If nothing matches, or several resources with the same priority.
    pub fn resource(&self, partial: &PartialResource) -> Result<Mapping, MapError> {
        let expanded = self.expand(partial);
        let mappings = self.resources(&expanded.partial);
        if mappings.is_empty() {
            let suggestions = self.suggest(&partial.resource);
            return Err(MapError::NoResource { partial: partial.clone(), suggestions });
        }
        one(&mappings)
            .map_err(|candidates| MapError::Ambiguous { requested: partial.to_string(), candidates })
    }

    /// Returns everything with this name in every group and version, by priority. Case is ignored, and an unknown group
    /// is treated as a prefix.
    pub fn candidates(&self, partial: &PartialResource) -> Vec<Mapping> {
        self.resources(&self.expand(partial).partial).into_iter().map(|entry| entry.mapping.clone()).collect()
    }

    /// Returns the resource of a kind: in the first of these versions that has it, or if `versions` is empty in the
    /// version with the highest priority. The kind may be in lower case.
    ///
    /// # Errors
    /// If none of the versions has the kind, or several resources of one version have it.
    pub fn kind(&self, kind: &GroupKind, versions: &[&str]) -> Result<Mapping, MapError> {
        let has_kind = |entry: &&Entry| {
            let known = &entry.mapping.kind;
            known.group == kind.group && (known.kind == kind.kind || known.kind.to_lowercase() == kind.kind)
        };
        let position = |entry: &Entry| {
            if versions.is_empty() {
                return Some(entry.rank);
            }
            versions.iter().position(|version| *version == entry.mapping.kind.version)
        };
        let mut found: Vec<(usize, &Entry)> = self
            .entries
            .iter()
            .filter(has_kind)
            .filter_map(|entry| Some((position(entry)?, entry)))
            .collect();
        found.sort_by_key(|(position, _)| *position);
        if found.is_empty() {
            let versions = versions.iter().map(|version| (*version).to_owned()).collect();
            return Err(MapError::NoKind {
                kind: kind.clone(),
                versions,
                suggestions: self.suggest_kinds(&kind.kind),
            });
        }
        let entries: Vec<&Entry> = found.into_iter().map(|(_, entry)| entry).collect();
        one(&entries).map_err(|candidates| MapError::Ambiguous { requested: kind.to_string(), candidates })
    }

    /// Returns the resources of a category such as `all`, each once.
    pub fn category(&self, category: &str) -> Vec<GroupResource> {
        let mut found: Vec<GroupResource> = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.categories.iter().any(|one| one == category)) {
            let resource = entry.mapping.resource.group_resource();
            if !found.contains(&resource) {
                found.push(resource);
            }
        }
        found
    }

    /// Returns names similar to an unknown name.
    pub fn suggest(&self, name: &str) -> Vec<String> {
        let known = self.entries.iter().flat_map(|entry| {
            let names = [&entry.mapping.resource.resource, &entry.mapping.singular];
            names.into_iter().chain(&entry.short_names).map(String::as_str)
        });
        suggest(name, known)
    }

    fn suggest_kinds(&self, kind: &str) -> Vec<String> {
        let lower: HashMap<String, &str> = self
            .entries
            .iter()
            .map(|entry| (entry.mapping.kind.kind.to_lowercase(), &*entry.mapping.kind.kind))
            .collect();
        let found = suggest(kind, lower.keys().map(String::as_str));
        found.iter().filter_map(|name| lower.get(name)).map(|kind| (*kind).to_owned()).collect()
    }

    /// Expands a short name; any other name, and one that is also a plural or singular, stays unchanged.
    pub(super) fn expand(&self, partial: &PartialResource) -> Expanded {
        let unchanged = || Expanded { partial: partial.clone(), others: Vec::new() };
        let is_in_group =
            |entry: &&Entry| partial.group.is_empty() || entry.mapping.resource.group == partial.group;
        if self.entries.iter().filter(is_in_group).any(|entry| entry.has_name(&partial.resource)) {
            return unchanged();
        }
        let is_short = |entry: &&Entry| entry.short_names.contains(&partial.resource);
        let mut matches: Vec<GroupResource> = Vec::new();
        for entry in self.entries.iter().filter(is_in_group).filter(is_short) {
            let resource = entry.mapping.resource.group_resource();
            if !matches.contains(&resource) {
                matches.push(resource);
            }
        }
        if !matches.is_empty() {
            let first = matches.remove(0);
            return Expanded { partial: PartialResource::from(&first), others: matches };
        }
        let has_group_prefix = |entry: &&Entry| {
            !partial.group.is_empty() && entry.mapping.resource.group.starts_with(&partial.group)
        };
        match self.entries.iter().filter(has_group_prefix).find(is_short) {
            None => unchanged(),
            Some(Entry { mapping, .. }) => {
                let GroupVersionResource { group, resource, .. } = mapping.resource.clone();
                let partial = PartialResource { group, resource, version: partial.version.clone() };
                Expanded { partial, others: Vec::new() }
            }
        }
    }

    /// Returns the matching entries by priority.
    fn resources(&self, partial: &PartialResource) -> Vec<&Entry> {
        let name = partial.resource.to_lowercase();
        let in_version =
            |entry: &&Entry| partial.version.is_empty() || entry.mapping.resource.version == partial.version;
        let named: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.has_name(&name)).filter(in_version).collect();
        let group = |entry: &Entry| entry.mapping.resource.group.clone();
        let is_exact = |entry: &&&Entry| partial.group.is_empty() || group(entry) == partial.group;
        // With a version, the group must match exactly, as in client-go.
        let has_group_prefix =
            |entry: &&&Entry| partial.version.is_empty() && group(entry).starts_with(&partial.group);
        let mut found: Vec<&Entry> = named.iter().filter(is_exact).copied().collect();
        if found.is_empty() {
            found = named.iter().filter(has_group_prefix).copied().collect();
        }
        // Within one version, a plural wins over the singular of another resource.
        let is_plural = |entry: &Entry| entry.mapping.resource.resource == name;
        let plurals: HashSet<usize> =
            found.iter().filter(|entry| is_plural(entry)).map(|entry| entry.rank).collect();
        found.retain(|entry| is_plural(entry) || !plurals.contains(&entry.rank));
        found.sort_by_key(|entry| entry.rank);
        found
    }
}

/// Returns the first entry, or all entries of its group version if there is more than one.
fn one(found: &[&Entry]) -> Result<Mapping, Vec<Mapping>> {
    let group_version = |entry: &Entry| entry.mapping.resource.group_version();
    let first = group_version(found[0]);
    let same: Vec<&&Entry> = found.iter().filter(|entry| group_version(entry) == first).collect();
    match same.len() {
        1 => Ok(found[0].mapping.clone()),
        _ => Err(same.into_iter().map(|entry| entry.mapping.clone()).collect()),
    }
}

/// Returns the priority of each group version.
fn ranks(groups: &[ApiGroup]) -> HashMap<GroupVersion, usize> {
    let mut order = vec![GroupVersion::new("", "v1")];
    for group in groups {
        let of = |version: &str| GroupVersion::new(&*group.name, version);
        let has_preferred = group.versions.iter().any(|version| version.version == group.preferred);
        order.extend(has_preferred.then(|| of(&group.preferred)));
        order.extend(group.versions.iter().map(|version| of(&version.version)));
    }
    let mut ranks = HashMap::new();
    for (rank, of) in order.into_iter().enumerate() {
        ranks.entry(of).or_insert(rank);
    }
    ranks
}

/// Returns the singular name; old servers omit it.
fn singular(resource: &ApiResource) -> String {
    if resource.singular.is_empty() { resource.kind.kind.to_lowercase() } else { resource.singular.clone() }
}

/// Guesses the plural resource name of a kind, without a server. (client-go: `meta.UnsafeGuessKindToResource`.)
///
/// ```
/// use watchkeeper_client::discovery::guess_plural;
/// assert_eq!(guess_plural("Ingress"), "ingresses");
/// assert_eq!(guess_plural("NetworkPolicy"), "networkpolicies");
/// assert_eq!(guess_plural("Endpoints"), "endpoints");
/// assert_eq!(guess_plural("Pod"), "pods");
/// ```
pub fn guess_plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.as_str() {
        "" => singular,
        name if name.ends_with("endpoints") => singular,
        name if name.ends_with('s') => format!("{name}es"),
        name => match name.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{name}s"),
        },
    }
}
