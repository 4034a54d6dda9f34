//! The text format of the defaults; `tables/defaults.txt` describes it.

use std::collections::HashMap;

use serde_json::Value;
use watchkeeper_core::table::{self, TableError};

use super::rules::{self, Rule};
use super::{Fields, made, set};

/// The defaults of all kinds.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// By `<group> <version> <Kind>` (the core group is `-`), or by the name of a block.
    sections: HashMap<String, Vec<Row>>,
}

#[derive(Debug)]
struct Row {
    path: Vec<Step>,
    action: Action,
}

#[derive(Debug)]
struct Step {
    name: String,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The object, if it exists.
    Existing,
    /// The object, created if it is absent.
    Created,
    /// Each object of the list.
    Each,
}

#[derive(Debug)]
enum Action {
    Set(String, Value),
    /// Like `Set`, for a field that is written even if it is empty.
    Fill(String, Value),
    Block(String),
    Rule(Rule),
}

impl Table {
    pub(super) fn read(text: &str) -> Result<Self, TableError> {
        let mut table = Self::default();
        let mut section = String::new();
        let mut used = Vec::new();
        for line in table::rows(text) {
            if let Some(name) = line.text.strip_prefix("kind ").or_else(|| line.text.strip_prefix("block ")) {
                section = name.to_owned();
                if table.sections.insert(section.clone(), Vec::new()).is_some() {
                    return Err(line.error(format!("duplicate {name}")));
                }
                continue;
            }
            let row = Row::read(line.text).map_err(|problem| line.error(problem))?;
            if let Action::Block(name) = &row.action {
                used.push((line, name.clone()));
            }
            let rows = table.sections.get_mut(&section).ok_or_else(|| line.error("row before any kind"))?;
            rows.push(row);
        }
        match used.into_iter().find(|(_, name)| !table.sections.contains_key(name)) {
            Some((line, name)) => Err(line.error(format!("unknown block {name:?}"))),
            None => Ok(table),
        }
    }

    pub(super) fn apply(&self, group: &str, version: &str, kind: &str, object: &mut Fields) {
        let group = if group.is_empty() { "-" } else { group };
        self.apply_section(&format!("{group} {version} {kind}"), object);
    }

    fn apply_section(&self, name: &str, object: &mut Fields) {
        for row in self.sections.get(name).into_iter().flatten() {
            self.apply_row(&row.path, &row.action, object);
        }
    }

    fn apply_row(&self, path: &[Step], action: &Action, object: &mut Fields) {
        let Some((step, rest)) = path.split_first() else {
            match action {
                Action::Set(name, value) => set(object, name, value.clone()),
                Action::Fill(name, value) => {
                    if super::text(object, name).is_empty() {
                        object.insert(name.clone(), value.clone());
                    }
                }
                Action::Block(name) => self.apply_section(name, object),
                Action::Rule(rule) => rule(object),
            }
            return;
        };
        match step.form {
            Form::Existing => {
                if let Some(Value::Object(inner)) = object.get_mut(&step.name) {
                    self.apply_row(rest, action, inner);
                }
            }
            Form::Created => {
                if let Some(inner) = made(object, &step.name) {
                    self.apply_row(rest, action, inner);
                }
            }
            Form::Each => {
                for inner in super::objects(object, &step.name) {
                    self.apply_row(rest, action, inner);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str).filter(|name| name.contains(' '))
    }
}

impl Row {
    fn read(line: &str) -> Result<Self, String> {
        let (path, action) = line.split_once(' ').ok_or("a row needs a path and an action")?;
        let mut steps: Vec<Step> = match path {
            "." => Vec::new(),
            path => path.split('.').map(Step::read).collect(),
        };
        let action = match (action.strip_prefix('@'), action.strip_prefix('=')) {
            (Some(block), _) => Action::Block(block.to_owned()),
            (_, Some(rule)) => {
                Action::Rule(rules::by_name(rule).ok_or_else(|| format!("unknown rule {rule:?}"))?)
            }
            _ => {
                let field = steps.pop().filter(|step| step.form == Form::Existing);
                let field = field.ok_or("a value needs a field name")?;
                let value = serde_json::from_str(action).map_err(|error| format!("{action:?}: {error}"))?;
                match field.name.strip_suffix('?') {
                    Some(name) => Action::Fill(name.to_owned(), value),
                    None => Action::Set(field.name, value),
                }
            }
        };
        Ok(Self { path: steps, action })
    }
}

impl Step {
    fn read(word: &str) -> Self {
        let (name, form) = match (word.strip_suffix("[]"), word.strip_suffix('+')) {
            (Some(name), _) => (name, Form::Each),
            (_, Some(name)) => (name, Form::Created),
            _ => (word, Form::Existing),
        };
        Self { name: name.to_owned(), form }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_sets_existing_objects_and_creates_marked_ones() {
        let text = "kind - v1 Thing\nspec.a 1\nspec.items[].b \"x\"\nspec.made+.c true\nspec.none.d 1\n\
                    spec.part @Part\nspec.f? \"x\"\nblock Part\ne []\ng \"x\"\n";
        let mut object = json!({"spec": {"items": [{}, {"b": "y"}, 1], "part": {"g": ""}, "f": ""}});
        let table = Table::read(text).unwrap();
        table.apply("", "v1", "Thing", object.as_object_mut().unwrap());
        let expected = json!({"spec": {"a": 1, "items": [{"b": "x"}, {"b": "y"}, 1], "made": {"c": true},
            "part": {"e": [], "g": ""}, "f": "x"}});
        assert_eq!(object, expected);
    }

    #[test]
    fn errors_in_the_table_name_the_line() {
        let problem = |text: &str| Table::read(text).unwrap_err().to_string();
        assert_eq!(problem("a 1"), "line 1: row before any kind");
        assert_eq!(problem("block A\nblock A"), "line 2: duplicate A");
        assert_eq!(problem("block A\na"), "line 2: a row needs a path and an action");
        assert_eq!(problem("block A\na =guess"), "line 2: unknown rule \"guess\"");
        assert_eq!(problem("block A\na @B"), "line 2: unknown block \"B\"");
        assert_eq!(problem("block A\na[] 1"), "line 2: a value needs a field name");
        assert!(problem("block A\na {").starts_with("line 2: \"{\": EOF"));
    }
}
