//! Columns: what a resource is printed as, read from the committed tables.
//!
//! ```text
//! table <group or -> <version> <plural>
//! <column> | <type> | <format or -> | <priority> | <cell>
//! ```
//!
//! Columns have no descriptions: no client shows them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;

use super::cell::Cell;
use super::custom::CustomCell;
use crate::custom::PrinterColumn;
use crate::registry::{Resource, Subresource, Text};

/// A column, as its definition is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its heading: `Up-to-date`.
    pub name: Text,
    /// `string`, `integer`, `boolean`, `date`.
    #[serde(rename = "type")]
    pub value_type: Text,
    /// `name` where it names the object; mostly empty.
    pub format: Text,
    /// What it means; empty here, but clients expect the field.
    pub description: Text,
    /// 0 where it is always shown; more where only `-o wide` does.
    pub priority: i32,
}

/// The columns of a resource and what stands in their cells.
#[derive(Debug)]
pub struct Columns {
    definitions: Vec<Column>,
    /// As many as there are definitions, or more: see the table.
    cells: Vec<Cell>,
}

/// What a resource is printed as: its own columns, or name and time of creation.
pub fn columns(resource: &Resource) -> &Columns {
    if let Some(custom) = &resource.custom {
        return custom.columns();
    }
    find(&resource.group, &resource.version, &resource.name).unwrap_or(&BUILTIN.others)
}

/// What a subresource is printed as: a scale has columns of its own, others are their object again.
pub(super) fn columns_below<'a>(resource: &'a Resource, sub: &Subresource) -> &'a Columns {
    find("*", "*", &format!("/{}", sub.name)).unwrap_or_else(|| columns(resource))
}

fn find(group: &str, version: &str, plural: &str) -> Option<&'static Columns> {
    // The map's keys are `'static`; a lookup by shorter-lived parts needs them to be covariant.
    let index: &HashMap<(&str, &str, &str), usize> = &BUILTIN.index;
    let position = index.get(&(group, version, plural))?;
    Some(&BUILTIN.tables[*position])
}

impl Columns {
    /// The columns that a definition asks for after the name; the age, if it asks for none.
    pub(crate) fn custom(columns: &[PrinterColumn]) -> Self {
        let age = [PrinterColumn {
            name: "Age".to_owned(),
            value_type: "date".to_owned(),
            json_path: ".metadata.creationTimestamp".to_owned(),
            ..PrinterColumn::default()
        }];
        let is_default = columns.is_empty();
        let columns = if is_default { &age } else { columns };
        let name = Column {
            name: Text::Borrowed("Name"),
            value_type: Text::Borrowed("string"),
            format: Text::Borrowed("name"),
            description: Text::default(),
            priority: 0,
        };
        let description = |column: &PrinterColumn| match &*column.description {
            "" if is_default => Text::default(),
            "" => {
                format!("Custom resource definition column (in JSONPath format): {}", column.json_path).into()
            }
            said => said.to_owned().into(),
        };
        let definitions = columns.iter().map(|column| Column {
            name: column.name.clone().into(),
            value_type: column.value_type.clone().into(),
            format: column.format.clone().into(),
            description: description(column),
            priority: column.priority,
        });
        let cells = columns.iter().map(|column| Cell::Custom(CustomCell::new(column)));
        Self {
            definitions: std::iter::once(name).chain(definitions).collect(),
            cells: std::iter::once(Cell::NAME).chain(cells).collect(),
        }
    }

    /// The columns.
    pub fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// Whether these are the columns of resources without a table.
    pub(super) fn are_of_others(&self) -> bool {
        std::ptr::eq(self, &BUILTIN.others)
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }
}

struct Tables {
    tables: Vec<Columns>,
    /// Group, version and plural, and where their table stands.
    index: HashMap<(&'static str, &'static str, &'static str), usize>,
    /// For resources without a table.
    others: Columns,
}

static BUILTIN: LazyLock<Tables> = LazyLock::new(|| {
    read(include_str!("../../tables/columns.txt"))
        .unwrap_or_else(|error| panic!("the committed table of columns cannot be read: {error}"))
});

/// Why the table cannot be read: only a wrong table in the repository can cause it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
struct TableError {
    line: usize,
    problem: String,
}

fn read(text: &'static str) -> Result<Tables, TableError> {
    let mut read: Vec<((&'static str, &'static str, &'static str), Columns)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fail = |problem: String| TableError { line: at + 1, problem };
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        if let Some(names) = line.strip_prefix("table ") {
            let [group, version, plural] = names.split(' ').collect::<Vec<_>>()[..] else {
                return Err(fail(format!("cannot read {line:?}")));
            };
            let empty = Columns { definitions: Vec::new(), cells: Vec::new() };
            read.push(((undashed(group), version, plural), empty));
            continue;
        }
        let [name, value_type, format, priority, cell] = line.split(" | ").collect::<Vec<_>>()[..] else {
            return Err(fail(format!("cannot read {line:?}")));
        };
        let (_, columns) = read.last_mut().ok_or_else(|| fail("no table yet".to_owned()))?;
        columns.cells.push(Cell::parse(cell).map_err(fail)?);
        if name != "-" {
            columns.definitions.push(Column {
                name: Text::Borrowed(name),
                value_type: Text::Borrowed(value_type),
                format: Text::Borrowed(undashed(format)),
                description: Text::default(),
                priority: priority.parse().map_err(|_| fail(format!("bad priority {priority:?}")))?,
            });
        }
    }
    let missing = || TableError { line: text.lines().count(), problem: "no table for all others".to_owned() };
    let (_, others) = read.pop_if(|(names, _)| *names == ("*", "*", "*")).ok_or_else(missing)?;
    let index = read.iter().enumerate().map(|(at, (names, _))| (*names, at)).collect();
    Ok(Tables { tables: read.into_iter().map(|(_, columns)| columns).collect(), index, others })
}

fn undashed(word: &'static str) -> &'static str {
    if word == "-" { "" } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;

    #[test]
    fn every_table_is_of_a_resource_or_below_one() {
        for (group, version, plural) in BUILTIN.index.keys() {
            let below = plural.strip_prefix('/');
            let known = match below {
                Some(sub) => builtin().iter().any(|row| row.subresource(sub).is_some()),
                None => builtin().get(group, version, plural).is_some(),
            };
            assert!(known, "{group} {version} {plural}");
        }
    }

    #[test]
    fn a_wrong_table_is_refused_with_its_line() {
        let problem = |text| read(text).err().expect("the table is wrong").to_string();
        assert_eq!(problem("Name | string | name | 0 | name"), "line 1: no table yet");
        assert_eq!(problem("table - pods"), "line 1: cannot read \"table - pods\"");
        assert_eq!(problem("table - v1 pods\nName | x"), "line 2: cannot read \"Name | x\"");
        assert_eq!(problem("table - v1 pods\nA | string | - | 0 | guess"), "line 2: unknown cell \"guess\"");
        assert_eq!(problem("table - v1 pods\nA | string | - | x | name"), "line 2: bad priority \"x\"");
        assert_eq!(problem(""), "line 0: no table for all others");
    }
}
