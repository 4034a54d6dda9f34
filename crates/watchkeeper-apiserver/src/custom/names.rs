//! Names: whether a definition gets the names that it asks for.

use std::collections::HashSet;

use super::definition::{Condition, Definition, Names};

/// The names that a definition gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Naming {
    pub(super) accepted: Names,
    /// `NamesAccepted`, and `Established` as of before the resource is served.
    pub(super) conditions: [Condition; 2],
}

/// Decides on the names of a definition among all definitions. Returns `None` if nothing changes.
pub(super) fn decide<'a>(
    definition: &Definition,
    all: impl Iterator<Item = &'a Definition>,
) -> Option<Naming> {
    let (asked, had) = (&definition.spec.names, &definition.status.accepted_names);
    if asked == had {
        return None;
    }
    let (mut resources, mut kinds) = (HashSet::new(), HashSet::new());
    for other in all.filter(|other| other.spec.group == definition.spec.group) {
        let names = &other.status.accepted_names;
        resources.extend([names.plural.as_str(), names.singular.as_str()]);
        resources.extend(names.short_names.iter().map(String::as_str));
        kinds.extend([names.kind.as_str(), names.list_kind.as_str()]);
    }
    let mut accepted = had.clone();
    let mut refusal: Option<(&str, String)> = None;
    let mut note = |reason: &'static str, conflict: Option<String>| {
        if let Some(message) = conflict {
            refusal = Some((reason, message)); // the last one counts
        }
    };
    note("PluralConflict", claim(&asked.plural, &mut accepted.plural, &resources));
    note("SingularConflict", claim(&asked.singular, &mut accepted.singular, &resources));
    note("ShortNamesConflict", claim_all(&asked.short_names, &mut accepted.short_names, &resources));
    note("KindConflict", claim(&asked.kind, &mut accepted.kind, &kinds));
    note("ListKindConflict", claim(&asked.list_kind, &mut accepted.list_kind, &kinds));
    accepted.categories.clone_from(&asked.categories);

    let condition = |name: &str, is_true: bool, reason: &str, message: &str| Condition {
        name: name.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let names_accepted = match &refusal {
        None => condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", false, reason, message),
    };
    let established = match definition.condition("Established") {
        Some(established) if established.status == "True" || refusal.is_some() => established.clone(),
        _ if refusal.is_none() => {
            condition("Established", false, "Installing", "the initial names have been accepted")
        }
        _ => condition("Established", false, "NotAccepted", "not all names are accepted"),
    };
    let is_same = accepted == *had && definition.condition("NamesAccepted") == Some(&names_accepted);
    (!is_same).then_some(Naming { accepted, conditions: [names_accepted, established] })
}

/// Sets a name, unless another definition has it. Returns the conflict.
fn claim(asked: &str, accepted: &mut String, used: &HashSet<&str>) -> Option<String> {
    if asked != accepted && used.contains(asked) {
        return Some(in_use(asked));
    }
    asked.clone_into(accepted);
    None
}

/// Sets names, unless another definition has one of them. Returns the conflict.
fn claim_all(asked: &[String], accepted: &mut Vec<String>, used: &HashSet<&str>) -> Option<String> {
    let is_taken = |name: &&String| !accepted.contains(name) && used.contains(name.as_str());
    let taken: Vec<String> = asked.iter().filter(is_taken).map(|name| in_use(name)).collect();
    match &taken[..] {
        [] => {
            asked.clone_into(accepted);
            None
        }
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn definition(plural: &str, short: &[&str], accepted: &Value) -> Definition {
        serde_json::from_value(json!({
            "metadata": {"name": format!("{plural}.example.com")},
            "spec": {"group": "example.com", "scope": "Cluster", "versions": [],
                     "names": {"plural": plural, "singular": plural, "kind": plural, "listKind": format!("{plural}List"),
                               "shortNames": short}},
            "status": {"acceptedNames": accepted},
        }))
        .unwrap()
    }

    #[test]
    fn custom_c2_the_first_definition_keeps_the_name() {
        let first = definition("as", &["a"], &json!({"plural": "as", "shortNames": ["a"], "kind": "as"}));
        let second = definition("bs", &["a", "b"], &json!({}));
        let all = [first, second];
        let naming = decide(&all[1], all.iter()).unwrap();
        let [accepted, established] = &naming.conditions;
        assert_eq!((&*accepted.status, &*accepted.reason), ("False", "ShortNamesConflict"));
        assert_eq!(accepted.message, "\"a\" is already in use");
        assert_eq!((&*established.status, &*established.reason), ("False", "NotAccepted"));
        assert_eq!((&*naming.accepted.plural, naming.accepted.short_names.len()), ("bs", 0));

        let alone = decide(&all[1], [].into_iter()).unwrap();
        assert_eq!(alone.accepted, all[1].spec.names);
        assert_eq!(alone.conditions.each_ref().map(|it| &*it.reason), ["NoConflicts", "Installing"]);
    }
}
