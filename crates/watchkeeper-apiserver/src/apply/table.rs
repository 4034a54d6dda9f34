//! The text format of the merge table: which lists and maps are merged, and which are atomic.
//!
//! ```text
//! type <message> [atomic]
//! <field> atomic
//! <field> granular
//! <field> set
//! <field> map <key>[=<default in JSON>]...
//! ```
//!
//! By default a list is atomic, and each field of an object or map has its own owner.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::Value;

use crate::registry::Text;
use watchkeeper_core::table::{self, TableError};
use watchkeeper_wire::schema;

/// The merge semantics of the API types.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By the name of the message.
    types: HashMap<&'static str, Merging>,
    /// The messages of kinds, which have `apiVersion` and `kind` too.
    kinds: HashSet<&'static str>,
}

#[derive(Debug, Default)]
struct Merging {
    is_atomic: bool,
    fields: HashMap<&'static str, Treatment>,
}

/// The merge semantics of a field.
#[derive(Debug, PartialEq)]
pub(super) enum Treatment {
    /// An object or map with one owner.
    Atomic,
    /// An object of an atomic type each of whose fields has its own owner.
    Granular,
    /// A list whose items are identified by value.
    Set,
    /// A list whose items are identified by these fields.
    Keyed(Vec<Key>),
}

/// A field that identifies list items.
#[derive(Debug, PartialEq)]
pub(super) struct Key {
    pub(super) name: Text,
    /// Its value in items that do not set it.
    pub(super) default: Option<Value>,
}

/// Returns the table of the built-in kinds.
pub(super) fn builtin() -> &'static Table {
    static BUILTIN: LazyLock<Table> = LazyLock::new(|| {
        Table::read(include_str!("../../tables/merge.txt"))
            .unwrap_or_else(|error| panic!("invalid tables/merge.txt: {error}"))
    });
    &BUILTIN
}

impl Table {
    fn read(text: &'static str) -> Result<Self, TableError> {
        let kinds = schema::builtin().kinds().map(|(_, message)| message.name()).collect();
        let mut table = Self { types: HashMap::new(), kinds };
        let mut current = None;
        for row in table::rows(text) {
            let words = row.words();
            let (field, treatment) = match words[..] {
                ["type", name] | ["type", name, "atomic"] => {
                    current = Some(name);
                    let merging = Merging { is_atomic: words.len() == 3, ..Default::default() };
                    if table.types.insert(name, merging).is_some() {
                        return Err(row.error("duplicate type"));
                    }
                    continue;
                }
                [field, "atomic"] => (field, Treatment::Atomic),
                [field, "granular"] => (field, Treatment::Granular),
                [field, "set"] => (field, Treatment::Set),
                [field, "map", ref keys @ ..] if !keys.is_empty() => {
                    let keys: Result<_, _> = keys.iter().copied().map(Key::read).collect();
                    (field, Treatment::Keyed(keys.map_err(|error: String| row.error(error))?))
                }
                _ => return Err(row.invalid()),
            };
            let merging = current.and_then(|name| table.types.get_mut(name));
            let merging = merging.ok_or_else(|| row.error("field before any type"))?;
            merging.fields.insert(field, treatment);
        }
        Ok(table)
    }

    /// Returns whether objects of a message are atomic.
    pub(super) fn is_atomic(&self, message: &str) -> bool {
        self.types.get(message).is_some_and(|merging| merging.is_atomic)
    }

    /// Returns the merge semantics of a field; `None` for the default.
    pub(super) fn treatment(&self, message: &str, field: &str) -> Option<&Treatment> {
        self.types.get(message)?.fields.get(field)
    }

    /// Returns whether a message is that of a kind.
    pub(super) fn is_kind(&self, message: &str) -> bool {
        self.kinds.contains(message)
    }
}

impl Key {
    fn read(text: &'static str) -> Result<Self, String> {
        let (name, default) = match text.split_once('=') {
            Some((name, json)) => {
                (name, Some(serde_json::from_str(json).map_err(|error| error.to_string())?))
            }
            None => (text, None),
        };
        Ok(Self { name: name.into(), default })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_committed_table_names_known_messages() {
        let known: HashSet<&str> =
            schema::builtin().messages().iter().map(|message| message.name()).collect();
        let unknown: Vec<_> = builtin().types.keys().filter(|name| !known.contains(**name)).collect();
        // Versions that are no longer served, and a test group.
        assert!(
            unknown.iter().all(|name| name.contains(".v1beta1.") || name.starts_with("testapi")),
            "{unknown:?}"
        );
    }

    #[test]
    fn ports_have_two_keys_and_one_default() {
        let keys = vec![
            Key { name: "containerPort".into(), default: Some(json!(0)) },
            Key { name: "protocol".into(), default: Some(json!("TCP")) },
        ];
        assert_eq!(builtin().treatment("core.v1.Container", "ports"), Some(&Treatment::Keyed(keys)));
        assert!(builtin().is_atomic("core.v1.ObjectReference"));
        assert!(builtin().is_kind("core.v1.Pod") && !builtin().is_kind("core.v1.PodTemplateSpec"));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [("type a\nb what", 2), ("a set", 1), ("type a\ntype a", 2), ("type a\nb map", 2)]
        {
            assert_eq!(Table::read(text).unwrap_err().line, line, "{text}");
        }
    }
}
