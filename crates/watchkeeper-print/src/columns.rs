//! Columns: what a resource is printed as, read from the committed tables.
//!
//! ```text
//! table <group or -> <version> <plural>
//! <column> | <type> | <format or -> | <priority> | <cell>
//! ```
//!
//! Columns have no descriptions: no client shows them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use crate::cell::{Cell, Subject};
use crate::cells::default_storage_class;
use crate::custom::{CustomCell, PrinterColumn};
use crate::times::Times;

type Text = Cow<'static, str>;

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

/// What a built-in resource is printed as: its own columns, or name and time of creation.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_print::{Times, columns};
///
/// let configmaps = columns("", "v1", "configmaps");
/// let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T10:00:00Z"}, "data": {"k": "v"}});
/// let now = "2026-11-15T10:05:07Z".parse()?;
/// assert_eq!(configmaps.row(&object, Times::Ages { now }), [json!("a"), json!(1), json!("5m7s")]);
/// # Ok::<(), watchkeeper_core::TimestampError>(())
/// ```
pub fn columns(group: &str, version: &str, plural: &str) -> &'static Columns {
    find(group, version, plural).unwrap_or(&BUILTIN.others)
}

/// What a subresource is printed as, of whichever resource, if it has columns of its own: a scale has.
pub fn subresource_columns(name: &str) -> Option<&'static Columns> {
    find("*", "*", &format!("/{name}"))
}

/// What has columns of its own: group, version and plural, or `*`, `*` and `/name` for a subresource.
pub fn tables() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    BUILTIN.index.keys().copied()
}

fn find(group: &str, version: &str, plural: &str) -> Option<&'static Columns> {
    // The map's keys are `'static`; a lookup by shorter-lived parts needs them to be covariant.
    let index: &HashMap<(&str, &str, &str), usize> = &BUILTIN.index;
    let position = index.get(&(group, version, plural))?;
    Some(&BUILTIN.tables[*position])
}

impl Columns {
    /// The columns that a definition asks for after the name; the age, if it asks for none.
    pub fn custom(columns: &[PrinterColumn]) -> Self {
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

    /// The columns, as the API server sends them.
    pub fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// The columns, where those whose cells can be a moment are of type `date`: what goes with [`Times::Moments`]. A
    /// cell of such a column that is not a moment (`<none>`, the duration of a finished job) is shown as it is.
    pub fn dated(&self) -> Vec<Column> {
        let mut columns = self.definitions.clone();
        for (column, cell) in columns.iter_mut().zip(&self.cells) {
            if cell.is_moment() {
                column.value_type = Text::Borrowed("date");
            }
        }
        columns
    }

    /// Whether these are the columns of resources without a table.
    pub fn are_of_others(&self) -> bool {
        std::ptr::eq(self, &BUILTIN.others)
    }

    /// The cells of one object. There may be more of them than columns: some tables have cells that nobody shows.
    pub fn row(&self, object: &Value, times: Times) -> Vec<Value> {
        self.row_among(object, times, None)
    }

    /// The cells of each object of a list.
    pub fn rows(&self, items: &[Value], times: Times) -> Vec<Vec<Value>> {
        let default_class = default_storage_class(items);
        items.iter().map(|item| self.row_among(item, times, default_class)).collect()
    }

    /// The cells of one object of a list, for a caller that does not hold all of them at once. `default_class` is the
    /// [default storage class](crate::default_storage_class) of the list.
    pub fn row_among(&self, object: &Value, times: Times, default_class: Option<&str>) -> Vec<Value> {
        let subject = Subject::new(object, times, default_class);
        self.cells.iter().map(|cell| cell.value(&subject)).collect()
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
    read(include_str!("../tables/columns.txt"))
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
    use serde_json::json;

    #[test]
    fn moments_are_in_columns_of_dates() {
        let types = |columns: &Columns| -> Vec<(String, String)> {
            columns.dated().into_iter().map(|it| (it.name.into(), it.value_type.into())).collect()
        };
        let dates = |columns: &Columns| -> Vec<String> {
            types(columns).into_iter().filter(|(_, form)| form == "date").map(|(name, _)| name).collect()
        };
        assert_eq!(dates(columns("", "v1", "pods")), ["Age"]);
        assert_eq!(dates(columns("", "v1", "events")), ["Last Seen", "First Seen"]);
        assert_eq!(dates(columns("batch", "v1", "cronjobs")), ["Last Schedule", "Age"]);
        assert_eq!(dates(columns("batch", "v1", "jobs")), ["Duration", "Age"]);
        assert_eq!(dates(columns("example.com", "v1", "widgets")), ["Created At"]);
        assert_eq!(dates(&Columns::custom(&[])), ["Age"]);
    }

    #[test]
    fn a_moment_is_shown_as_it_is_to_who_counts_the_time_since() {
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        let pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T09:00:00Z"},
            "status": {"containerStatuses": [{"restartCount": 3,
                "lastState": {"terminated": {"finishedAt": "2026-11-15T09:55:00Z"}}}]}});
        let pods = columns("", "v1", "pods");
        assert_eq!(pods.row(&pod, Times::Ages { now })[3..5], [json!("3 (5m ago)"), json!("60m")]);
        assert_eq!(
            pods.row(&pod, Times::Moments)[3..5],
            [json!("3 (2026-11-15T09:55:00Z ago)"), json!("2026-11-15T09:00:00Z")]
        );
        let duration = |status: Value| {
            columns("batch", "v1", "jobs").row(&json!({"status": status}), Times::Moments)[3].clone()
        };
        assert_eq!(duration(json!({})), "");
        assert_eq!(duration(json!({"startTime": "2026-11-15T09:00:00Z"})), "2026-11-15T09:00:00Z");
        let ended = json!({"startTime": "2026-11-15T09:00:00Z", "completionTime": "2026-11-15T09:00:07Z"});
        assert_eq!(duration(ended), "7s");
        let cron_job = columns("batch", "v1", "cronjobs").row(&json!({}), Times::Moments);
        assert_eq!(cron_job[5], "<none>");
        let event = json!({"lastTimestamp": "2026-11-15T09:00:00Z"});
        let events = columns("", "v1", "events");
        assert_eq!(events.row(&event, Times::Moments)[0], "2026-11-15T09:00:00Z");
        assert_eq!(events.row(&json!({}), Times::Moments)[0], "<unknown>");
        let widgets = Columns::custom(&[]);
        assert_eq!(widgets.row(&pod, Times::Moments)[1], "2026-11-15T09:00:00Z");
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
