//! Table: every name of every resource, and what it stands for.

use std::collections::{HashMap, HashSet};

use watchkeeper_core::{GroupKind, GroupResource, GroupVersion, GroupVersionResource};

use super::super::{ApiGroup, ApiResource, Discovered};
use super::near::near;
use super::{MapError, Mapping, PartialResource};

/// What can be looked up in one [`Discovered`], without asking anybody.
///
/// Where several group versions match, the core group's `v1` counts most; then groups in the server's order,
/// and of each the preferred version before the others.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// In the server's order.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// The less, the more it counts.
    rank: usize,
    mapping: Mapping,
    short_names: Vec<String>,
    categories: Vec<String>,
}

impl Entry {
    fn is_called(&self, name: &str) -> bool {
        self.mapping.resource.resource == name || self.mapping.singular == name
    }
}

/// What a short name stands for.
pub(super) struct Expanded {
    pub(super) partial: PartialResource,
    /// Other resources that have the same short name, and count less.
    pub(super) others: Vec<GroupResource>,
}

impl Table {
    /// Everything that was found.
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

    /// What an argument of kubectl stands for: `po`, `Deployment`, `deployments.apps`, `deploy.v1.apps`.
    ///
    /// Short names are for resources only, and are taken for those of any version, as kubectl does.
    ///
    /// # Errors
    /// If it stands for nothing, or for several that count the same.
    pub fn argument(&self, argument: &str) -> Result<Mapping, MapError> {
        let readings = PartialResource::readings(argument);
        for reading in &readings {
            match self.resource(reading) {
                Err(error) if error.is_no_match() => {}
                answer => return answer,
            }
        }
        for reading in &readings {
            let kind = GroupKind { group: reading.group.clone(), kind: reading.resource.clone() };
            let version = Some(&*reading.version).filter(|version| !version.is_empty());
            match self.kind(&kind, version.as_slice()) {
                Err(error) if error.is_no_match() => {}
                answer => return answer,
            }
        }
        let in_group = readings.into_iter().last().unwrap_or_default();
        let near = self.near(&in_group.resource);
        Err(MapError::NoResourceType { resource: in_group.resource, group: in_group.group, near })
    }

    /// The resource that is called so, by its plural, singular or short name.
    ///
    /// # Errors
    /// If there is none, or several that count the same.
    pub fn resource(&self, partial: &PartialResource) -> Result<Mapping, MapError> {
        let expanded = self.expand(partial);
        let mappings = self.resources(&expanded.partial);
        if mappings.is_empty() {
            let near = self.near(&partial.resource);
            return Err(MapError::NoResource { partial: partial.clone(), near });
        }
        one(&mappings).map_err(|candidates| MapError::Ambiguous { asked: partial.to_string(), candidates })
    }

    /// Everything that is called so, in every group and version, that which counts most first. Upper and
    /// lower case are the same. A group that nobody has is the beginning of one.
    pub fn candidates(&self, partial: &PartialResource) -> Vec<Mapping> {
        self.resources(&self.expand(partial).partial).into_iter().map(|entry| entry.mapping.clone()).collect()
    }

    /// The resource for a kind: in the first of these versions that has it, or in that which counts most if
    /// none are given. The kind may be in lower case.
    ///
    /// # Errors
    /// If no version, or none of these, has it; or several resources of one version have it.
    pub fn kind(&self, kind: &GroupKind, versions: &[&str]) -> Result<Mapping, MapError> {
        let is_one = |entry: &&Entry| {
            let known = &entry.mapping.kind;
            known.group == kind.group && (known.kind == kind.kind || known.kind.to_lowercase() == kind.kind)
        };
        let place = |entry: &Entry| match versions.is_empty() {
            true => Some(entry.rank),
            false => versions.iter().position(|version| *version == entry.mapping.kind.version),
        };
        let mut found: Vec<(usize, &Entry)> =
            self.entries.iter().filter(is_one).filter_map(|entry| Some((place(entry)?, entry))).collect();
        found.sort_by_key(|(place, _)| *place);
        if found.is_empty() {
            let versions = versions.iter().map(|version| (*version).to_owned()).collect();
            return Err(MapError::NoKind { kind: kind.clone(), versions, near: self.near_kind(&kind.kind) });
        }
        let entries: Vec<&Entry> = found.into_iter().map(|(_, entry)| entry).collect();
        one(&entries).map_err(|candidates| MapError::Ambiguous { asked: kind.to_string(), candidates })
    }

    /// The resources of a category (`all`), each once.
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

    /// What is nearest to a name that is not known.
    pub fn near(&self, name: &str) -> Vec<String> {
        let known = self.entries.iter().flat_map(|entry| {
            let names = [&entry.mapping.resource.resource, &entry.mapping.singular];
            names.into_iter().chain(&entry.short_names).map(String::as_str)
        });
        near(name, known)
    }

    fn near_kind(&self, kind: &str) -> Vec<String> {
        let lower: HashMap<String, &str> = self
            .entries
            .iter()
            .map(|entry| (entry.mapping.kind.kind.to_lowercase(), &*entry.mapping.kind.kind))
            .collect();
        let found = near(kind, lower.keys().map(String::as_str));
        found.iter().filter_map(|name| lower.get(name)).map(|kind| (*kind).to_owned()).collect()
    }

    /// A short name is what it stands for; any other name, and one that is a plural or singular too, itself.
    pub(super) fn expand(&self, partial: &PartialResource) -> Expanded {
        let unchanged = || Expanded { partial: partial.clone(), others: Vec::new() };
        let is_in_group =
            |entry: &&Entry| partial.group.is_empty() || entry.mapping.resource.group == partial.group;
        if self.entries.iter().filter(is_in_group).any(|entry| entry.is_called(&partial.resource)) {
            return unchanged();
        }
        let is_short = |entry: &&Entry| entry.short_names.contains(&partial.resource);
        let mut meant: Vec<GroupResource> = Vec::new();
        for entry in self.entries.iter().filter(is_in_group).filter(is_short) {
            let resource = entry.mapping.resource.group_resource();
            if !meant.contains(&resource) {
                meant.push(resource);
            }
        }
        if !meant.is_empty() {
            let first = meant.remove(0);
            return Expanded { partial: PartialResource::from(&first), others: meant };
        }
        let begins = |entry: &&Entry| {
            !partial.group.is_empty() && entry.mapping.resource.group.starts_with(&partial.group)
        };
        match self.entries.iter().filter(begins).find(is_short) {
            None => unchanged(),
            Some(Entry { mapping, .. }) => {
                let GroupVersionResource { group, resource, .. } = mapping.resource.clone();
                let partial = PartialResource { group, resource, version: partial.version.clone() };
                Expanded { partial, others: Vec::new() }
            }
        }
    }

    /// What matches, that which counts most first.
    fn resources(&self, partial: &PartialResource) -> Vec<&Entry> {
        let name = partial.resource.to_lowercase();
        let in_version =
            |entry: &&Entry| partial.version.is_empty() || entry.mapping.resource.version == partial.version;
        let called: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.is_called(&name)).filter(in_version).collect();
        let group = |entry: &Entry| entry.mapping.resource.group.clone();
        let is_exact = |entry: &&&Entry| partial.group.is_empty() || group(entry) == partial.group;
        // With a version the group must be whole, as for client-go.
        let begins = |entry: &&&Entry| partial.version.is_empty() && group(entry).starts_with(&partial.group);
        let mut found: Vec<&Entry> = called.iter().filter(is_exact).copied().collect();
        if found.is_empty() {
            found = called.iter().filter(begins).copied().collect();
        }
        // Of one version a plural counts, and not the singular of another resource.
        let is_plural = |entry: &Entry| entry.mapping.resource.resource == name;
        let plurals: HashSet<usize> =
            found.iter().filter(|entry| is_plural(entry)).map(|entry| entry.rank).collect();
        found.retain(|entry| is_plural(entry) || !plurals.contains(&entry.rank));
        found.sort_by_key(|entry| entry.rank);
        found
    }
}

/// The first, unless the next counts the same.
fn one(found: &[&Entry]) -> Result<Mapping, Vec<Mapping>> {
    let group_version = |entry: &Entry| entry.mapping.resource.group_version();
    let first = group_version(found[0]);
    let same: Vec<&&Entry> = found.iter().filter(|entry| group_version(entry) == first).collect();
    match same.len() {
        1 => Ok(found[0].mapping.clone()),
        _ => Err(same.into_iter().map(|entry| entry.mapping.clone()).collect()),
    }
}

/// How much each group version counts.
fn ranks(groups: &[ApiGroup]) -> HashMap<GroupVersion, usize> {
    let mut order = vec![GroupVersion::new("", "v1")];
    for group in groups {
        let of = |version: &str| GroupVersion::new(&*group.name, version);
        let is_there = group.versions.iter().any(|version| version.version == group.preferred);
        order.extend(is_there.then(|| of(&group.preferred)));
        order.extend(group.versions.iter().map(|version| of(&version.version)));
    }
    let mut ranks = HashMap::new();
    for (rank, of) in order.into_iter().enumerate() {
        ranks.entry(of).or_insert(rank);
    }
    ranks
}

/// What one of them is called; old servers do not say.
fn singular(resource: &ApiResource) -> String {
    match resource.singular.is_empty() {
        true => resource.kind.kind.to_lowercase(),
        false => resource.singular.clone(),
    }
}

/// What a kind's resource is probably called: for kinds that no server is there to ask about.
///
/// ```
/// use watchkeeper_client::discovery::plural_of;
/// assert_eq!(plural_of("Ingress"), "ingresses");
/// assert_eq!(plural_of("NetworkPolicy"), "networkpolicies");
/// assert_eq!(plural_of("Endpoints"), "endpoints");
/// assert_eq!(plural_of("Pod"), "pods");
/// ```
pub fn plural_of(kind: &str) -> String {
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
