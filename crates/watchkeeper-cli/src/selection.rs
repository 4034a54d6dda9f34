//! Selection: the objects that a command's arguments refer to, parsed as kubectl parses them.
//!
//! Input: `pods`, `po,svc`, `deploy/web`, `pod a b`, `deployments.v1.apps`, `all`; `-l`, `--field-selector`, `-A`.
//! Output: a [`Selection`]: lists of resources, or objects by name.

use clap::Args;
use watchkeeper_client::discovery::{Mapping, RestMapper};
use watchkeeper_core::GroupResource;

use crate::connect::Connection;
use crate::failure::Failure;

/// Flags that narrow a list.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct Selectors {
    /// Label selector: app=web, tier in (front,back), !canary
    #[arg(
        short = 'l',
        long = "selector",
        value_name = "LABELS",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) labels: String,
    /// Field selector: status.phase=Running,metadata.name!=a
    #[arg(long = "field-selector", value_name = "FIELDS", default_value = "", hide_default_value = true)]
    pub(crate) fields: String,
    /// Use all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
}

/// The objects to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) asked: Asked,
    /// The namespace; empty for all of them.
    pub(crate) namespace: String,
    /// Label selector, unparsed: the server reports syntax errors.
    pub(crate) labels: String,
    /// Field selector, unparsed.
    pub(crate) fields: String,
}

/// Whole collections, or single objects by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All objects of these resources that match the selectors. No resource appears twice.
    Lists(Vec<Mapping>),
    /// These objects, in this order.
    Named(Vec<(Mapping, String)>),
}

/// Arguments before the mapper has resolved them.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    /// `pods,services`, and the names that follow.
    Types { types: String, names: Vec<String> },
    /// `pod/a svc/b`.
    Pairs(Vec<(String, String)>),
}

impl Selection {
    /// Resolves the arguments.
    ///
    /// # Errors
    /// If the arguments are invalid, or the server does not have the resource.
    pub(crate) async fn of(
        arguments: &[String],
        selectors: &Selectors,
        connection: &Connection,
    ) -> Result<Self, Failure> {
        let (labels, fields) = (selectors.labels.trim().to_owned(), selectors.fields.trim().to_owned());
        let namespace = if selectors.all_namespaces { String::new() } else { connection.namespace.clone() };
        let written = Written::of(arguments)?;
        let is_narrowed = !labels.is_empty() || !fields.is_empty();
        let asked = written.resolve(&connection.mapper, is_narrowed).await?;
        if let Asked::Named(named) = &asked
            && namespace.is_empty()
            && named.iter().any(|(mapping, _)| mapping.namespaced)
        {
            return Err(Failure::error(if selectors.all_namespaces {
                "a resource cannot be retrieved by name across all namespaces"
            } else {
                "namespace may not be empty when retrieving a resource by name"
            }));
        }
        Ok(Self { asked, namespace, labels, fields })
    }

    /// Returns the namespace for requests of a resource; empty for all namespaces and for cluster-scoped resources.
    pub(crate) fn namespace_of(&self, mapping: &Mapping) -> &str {
        if mapping.namespaced { &self.namespace } else { "" }
    }

    /// Returns whether exactly one object is selected.
    pub(crate) fn is_single(&self) -> bool {
        matches!(&self.asked, Asked::Named(named) if named.len() == 1)
    }

    /// Returns the only selected resource.
    ///
    /// # Errors
    /// If more than one resource is selected.
    pub(crate) fn single_resource(&self) -> Result<&Mapping, Failure> {
        let mut mappings: Vec<&Mapping> = match &self.asked {
            Asked::Lists(mappings) => mappings.iter().collect(),
            Asked::Named(named) => named.iter().map(|(mapping, _)| mapping).collect(),
        };
        mappings.dedup();
        match mappings.as_slice() {
            [mapping] => Ok(mapping),
            _ => Err(Failure::error("you may only specify a single resource type")),
        }
    }
}

impl Written {
    fn of(arguments: &[String]) -> Result<Self, Failure> {
        let Some((first, names)) = arguments.split_first() else {
            return Err(Failure::error("no resource specified; for example: pods, deployments/web"));
        };
        let types = split(first);
        if types.len() > 1 && !names.is_empty() {
            let pairs = types.iter().flat_map(|of| names.iter().map(move |name| format!("{of}/{name}")));
            return pairs.map(|pair| pair_of(&pair)).collect::<Result<_, _>>().map(Self::Pairs);
        }
        match arguments.iter().filter(|argument| argument.contains('/')).count() {
            0 => Ok(Self::Types { types: first.clone(), names: names.to_vec() }),
            slashes if slashes == arguments.len() => {
                arguments.iter().map(|pair| pair_of(pair)).collect::<Result<_, _>>().map(Self::Pairs)
            }
            _ => Err(Failure::error(
                "there is no need to specify a resource type as a separate argument when passing arguments in \
                 resource/name form (e.g. 'watchkeeper get resource/<resource_name>' instead of 'watchkeeper \
                 get resource resource/<resource_name>'",
            )),
        }
    }

    async fn resolve(&self, mapper: &RestMapper, is_narrowed: bool) -> Result<Asked, Failure> {
        match self {
            Self::Pairs(_) if is_narrowed => Err(Failure::error(
                "selectors and the all flag cannot be used when passing resource/name arguments",
            )),
            Self::Pairs(pairs) => {
                let mut named = Vec::with_capacity(pairs.len());
                for (of, name) in pairs {
                    named.push((mapper.argument(of).await?, name.clone()));
                }
                Ok(Asked::Named(named))
            }
            Self::Types { names, .. } if is_narrowed && !names.is_empty() => {
                Err(Failure::error("name cannot be provided when a selector is specified"))
            }
            Self::Types { types, names } => {
                let types = expand(types, mapper).await?;
                if !names.is_empty() && types.len() > 1 {
                    return Err(Failure::error("you must specify only one resource"));
                }
                let mut mappings: Vec<Mapping> = Vec::with_capacity(types.len());
                for of in &types {
                    let mapping = mapper.argument(of).await?;
                    if mappings.iter().all(|known| known.kind != mapping.kind) {
                        mappings.push(mapping);
                    }
                }
                Ok(match (names.is_empty(), mappings.first()) {
                    (false, Some(mapping)) => {
                        Asked::Named(names.iter().map(|name| (mapping.clone(), name.clone())).collect())
                    }
                    _ => Asked::Lists(mappings),
                })
            }
        }
    }
}

/// Splits at commas and removes duplicates.
fn split(types: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for of in types.split(',') {
        if !found.iter().any(|known| known == of) {
            found.push(of.to_owned());
        }
    }
    found
}

/// Replaces categories by their resources.
async fn expand(types: &str, mapper: &RestMapper) -> Result<Vec<String>, Failure> {
    let mut expanded: Vec<String> = Vec::new();
    for of in types.split(',') {
        let members: Vec<String> = mapper.category(of).await?.iter().map(argument_for).collect();
        if members.is_empty() {
            expanded.push(of.to_owned());
        } else {
            expanded.extend(members);
        }
    }
    Ok(split(&expanded.join(",")))
}

fn argument_for(resource: &GroupResource) -> String {
    if resource.group.is_empty() {
        resource.resource.clone()
    } else {
        format!("{}.{}", resource.resource, resource.group)
    }
}

fn pair_of(argument: &str) -> Result<(String, String), Failure> {
    let mut parts = argument.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (_, _, Some(_)) => {
            Err(Failure::error("arguments in resource/name form may not have more than one slash"))
        }
        (Some(of), Some(name), None) if !of.is_empty() && !name.is_empty() && !of.contains(',') => {
            Ok((of.to_owned(), name.to_owned()))
        }
        _ => Err(Failure::error("arguments in resource/name form must have a single resource and name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(arguments: &[&str]) -> Result<Written, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Written::of(&arguments).map_err(|failure| failure.to_string())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Result<Written, String> {
        let owned = |(of, name): &(&str, &str)| ((*of).to_owned(), (*name).to_owned());
        Ok(Written::Pairs(pairs.iter().map(owned).collect()))
    }

    #[test]
    fn arguments_are_types_and_names_or_pairs() {
        let types = |types: &str, names: &[&str]| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            Ok(Written::Types { types: types.to_owned(), names })
        };
        assert_eq!(written(&["pods"]), types("pods", &[]));
        assert_eq!(written(&["pods,svc"]), types("pods,svc", &[]));
        assert_eq!(written(&["pod", "a", "b"]), types("pod", &["a", "b"]));
        assert_eq!(written(&["pod,pod", "a"]), types("pod,pod", &["a"]));
        assert_eq!(written(&["pod/a", "svc/b"]), pairs(&[("pod", "a"), ("svc", "b")]));
        assert_eq!(written(&["pod,svc", "a"]), pairs(&[("pod", "a"), ("svc", "a")]));
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for (arguments, expected) in [
            (&["pod/a/b"][..], "error: arguments in resource/name form may not have more than one slash"),
            (&["pod/"], "error: arguments in resource/name form must have a single resource and name"),
            (&["/a"], "error: arguments in resource/name form must have a single resource and name"),
            (&["a,b/c"], "error: arguments in resource/name form must have a single resource and name"),
            (&["pod,svc", "a/b"], "error: arguments in resource/name form may not have more than one slash"),
        ] {
            assert_eq!(written(arguments).unwrap_err(), expected, "{arguments:?}");
        }
        assert!(written(&["pod", "pod/a"]).unwrap_err().starts_with("error: there is no need to specify"));
        assert!(written(&[]).is_err());
    }

    #[test]
    fn types_are_split_at_commas_without_duplicates() {
        assert_eq!(split("a,b,a,"), ["a", "b", ""]);
        assert_eq!(split("a"), ["a"]);
    }
}
