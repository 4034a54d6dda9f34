//! The text format of the resources: one line per resource or subresource.
//!
//! ```text
//! resource <group or -> <version> <plural> <singular or -> <Kind> <scope> <storage or -> <generation or -> <verbs> <short names or -> <categories or ->
//! sub <name> [<group or ->/<version>/]<Kind> <verbs>
//! ```
//!
//! A subresource belongs to the resource above it. Verbs, short names and categories are separated
//! by commas; all eight verbs are `all`.

use watchkeeper_core::table::{self, TableError};

use super::{Resource, Scope, Subresource, Text, Verb, Verbs};

pub(super) fn read(text: &'static str) -> Result<Vec<Resource>, TableError> {
    let mut rows: Vec<Resource> = Vec::new();
    for row in table::rows(text) {
        let fail = |problem: String| row.error(problem);
        match row.words()[..] {
            [
                "resource",
                group,
                version,
                name,
                singular,
                kind,
                scope,
                storage,
                generation,
                verbs,
                short,
                categories,
            ] => {
                rows.push(Resource {
                    singular: dashed(singular),
                    kind: Text::Borrowed(kind),
                    scope: match scope {
                        "namespaced" => Scope::Namespaced,
                        "cluster" => Scope::Cluster,
                        other => return Err(fail(format!("unknown scope {other:?}"))),
                    },
                    verbs: read_verbs(verbs).map_err(fail)?,
                    short_names: listed(short),
                    categories: listed(categories),
                    storage: Some(dashed(storage)).filter(|storage| !storage.is_empty()),
                    counts_generation: match generation {
                        "generation" => true,
                        "-" => false,
                        other => return Err(fail(format!("unknown word {other:?}"))),
                    },
                    ..Resource::new(dashed(group), version, name)
                });
            }
            ["sub", name, kind, verbs] => {
                let resource = rows.last_mut().ok_or_else(|| row.error("no resource yet"))?;
                let (group_version, kind) = match kind.split('/').collect::<Vec<_>>()[..] {
                    [kind] => (None, kind),
                    [group, version, kind] => (Some((dashed(group), Text::Borrowed(version))), kind),
                    _ => return Err(row.error(format!("invalid kind {kind:?}"))),
                };
                resource.subresources.push(Subresource {
                    name: Text::Borrowed(name),
                    group_version,
                    kind: Text::Borrowed(kind),
                    verbs: read_verbs(verbs).map_err(fail)?,
                });
            }
            _ => return Err(row.invalid()),
        }
    }
    Ok(rows)
}

fn dashed(word: &'static str) -> Text {
    Text::Borrowed(table::value(word))
}

fn listed(word: &'static str) -> Vec<Text> {
    if word == "-" { Vec::new() } else { word.split(',').map(Text::Borrowed).collect() }
}

fn read_verbs(word: &str) -> Result<Verbs, String> {
    match word {
        "all" => Ok(Verbs::ALL),
        "-" => Ok(Verbs::default()),
        _ => word
            .split(',')
            .map(|verb| Verb::parse(verb).ok_or_else(|| format!("unknown verb {verb:?}")))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &'static str) -> String {
        read(text).expect_err("the table is wrong").to_string()
    }

    #[test]
    fn errors_in_the_table_name_the_line() {
        assert_eq!(problem("# ok\n\nsub status Pod get"), "line 3: no resource yet");
        assert_eq!(problem("resource - v1"), "line 1: invalid row \"resource - v1\"");
        assert_eq!(
            problem("resource - v1 pods pod Pod everywhere pods - all - -"),
            "line 1: unknown scope \"everywhere\""
        );
        assert_eq!(
            problem("resource - v1 pods pod Pod cluster pods - get,set - -"),
            "line 1: unknown verb \"set\""
        );
        assert_eq!(
            problem("resource - v1 pods pod Pod cluster pods - all - -\nsub x a/B get"),
            "line 2: invalid kind \"a/B\""
        );
    }

    #[test]
    fn a_line_is_a_resource_or_a_subresource() {
        let rows = read(
            "resource apps v1 deployments deployment Deployment namespaced apps/deployments generation all deploy all\n\
             sub scale autoscaling/v1/Scale get,patch,update\n\
             sub binding -/v1/Binding create",
        )
        .unwrap();
        let scale = rows[0].subresource("scale").unwrap();
        assert_eq!(scale.group_version_kind(&rows[0]).to_string(), "autoscaling/v1, Kind=Scale");
        let binding = rows[0].subresource("binding").unwrap();
        assert_eq!(binding.group_version_kind(&rows[0]).to_string(), "v1, Kind=Binding");
        assert!(rows[0].counts_generation && rows[0].is_namespaced());
    }
}
