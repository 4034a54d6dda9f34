//! The columns of built-in resources, from the committed table.
//!
//! ```text
//! table <group or -> <version> <plural>
//! <column> | <type> | <format or -> | <priority> | <cell>
//! ```
//!
//! Columns have no descriptions, which clients do not show.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use watchkeeper_core::table::{self, TableError};

use crate::cell::{Cell, Subject};
use crate::cells::default_storage_class;
use crate::custom::{CustomCell, PrinterColumn};
use crate::timestamp_format::TimestampFormat;

type Text = Cow<'static, str>;

/// A column definition, as sent to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// The heading: `Up-to-date`.
    pub name: Text,
    /// `string`, `integer`, `boolean`, `date`.
    #[serde(rename = "type")]
    pub value_type: Text,
    /// `name` for the object's name; mostly empty.
    pub format: Text,
    /// The description; empty for built-in resources.
    pub description: Text,
    /// 0 for columns that are always shown; greater for `-o wide`.
    pub priority: i32,
}

/// The columns of a resource, and how to compute their cells.
#[derive(Debug)]
pub struct Columns {
    definitions: Vec<Column>,
    /// At least as many as definitions: see the table.
    cells: Vec<Cell>,
}

/// Returns the columns of a resource: those in the table, or name and creation timestamp.
///
/// ```
/// use serde_json::json;
/// use watchkeeper_print::{TimestampFormat, columns};
///
/// let configmaps = columns("", "v1", "configmaps");
/// let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T10:00:00Z"}, "data": {"k": "v"}});
/// let now = "2026-11-15T10:05:07Z".parse()?;
/// assert_eq!(configmaps.row(&object, TimestampFormat::Age { now }), [json!("a"), json!(1), json!("5m7s")]);
/// # Ok::<(), watchkeeper_core::TimestampError>(())
/// ```
pub fn columns(group: &str, version: &str, plural: &str) -> &'static Columns {
    find(group, version, plural).unwrap_or(&BUILTIN.others)
}

/// Returns the columns of a subresource of any resource, if it has its own, as `scale` does.
pub fn subresource_columns(name: &str) -> Option<&'static Columns> {
    find("*", "*", &format!("/{name}"))
}

/// Returns everything with its own columns: group, version and plural, or `*`, `*` and `/name` for a subresource.
pub fn tables() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    BUILTIN.index.keys().copied()
}

fn find(group: &str, version: &str, plural: &str) -> Option<&'static Columns> {
    // Shortens the `'static` lifetime of the keys, for a lookup with borrowed parts.
    let index: &HashMap<(&str, &str, &str), usize> = &BUILTIN.index;
    let position = index.get(&(group, version, plural))?;
    Some(&BUILTIN.tables[*position])
}

impl Columns {
    /// Creates the columns of a custom resource: the name, followed by the given columns, or by the age if there are none.
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
            description => description.to_owned().into(),
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

    /// Returns the column definitions.
    pub fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// Returns the column definitions for [`TimestampFormat::Absolute`]: columns with timestamps have type `date`. Cells of such a
    /// column may also be other text (`<none>`, the duration of a finished job).
    pub fn definitions_with_dates(&self) -> Vec<Column> {
        let mut columns = self.definitions.clone();
        for (column, cell) in columns.iter_mut().zip(&self.cells) {
            if cell.is_timestamp() {
                column.value_type = Text::Borrowed("date");
            }
        }
        columns
    }

    /// Returns whether these are the columns of resources without a table.
    pub fn is_default(&self) -> bool {
        std::ptr::eq(self, &BUILTIN.others)
    }

    /// Returns the cells of an object. There may be more cells than columns.
    pub fn row(&self, object: &Value, times: TimestampFormat) -> Vec<Value> {
        self.row_in_list(object, times, None)
    }

    /// Returns the cells of each object of a list.
    pub fn rows(&self, items: &[Value], times: TimestampFormat) -> Vec<Vec<Value>> {
        let default_class = default_storage_class(items);
        items.iter().map(|item| self.row_in_list(item, times, default_class)).collect()
    }

    /// Returns the cells of one object of a list, for callers that do not hold the whole list. `default_class` is the
    /// [default storage class](crate::default_storage_class) of the list.
    pub fn row_in_list(
        &self,
        object: &Value,
        times: TimestampFormat,
        default_class: Option<&str>,
    ) -> Vec<Value> {
        let subject = Subject::new(object, times, default_class);
        self.cells.iter().map(|cell| cell.value(&subject)).collect()
    }
}

struct Tables {
    tables: Vec<Columns>,
    /// Positions in `tables`, by group, version and plural.
    index: HashMap<(&'static str, &'static str, &'static str), usize>,
    /// The columns of resources without a table.
    others: Columns,
}

static BUILTIN: LazyLock<Tables> = LazyLock::new(|| {
    read(include_str!("../tables/columns.txt"))
        .unwrap_or_else(|error| panic!("invalid table of columns: {error}"))
});

fn read(text: &'static str) -> Result<Tables, TableError> {
    let mut read: Vec<((&'static str, &'static str, &'static str), Columns)> = Vec::new();
    for row in table::rows(text) {
        if row.text.starts_with("table ") {
            let ["table", group, version, plural] = row.words()[..] else { return Err(row.invalid()) };
            let empty = Columns { definitions: Vec::new(), cells: Vec::new() };
            read.push(((table::value(group), version, plural), empty));
            continue;
        }
        let [name, value_type, format, priority, cell] = row.columns()[..] else {
            return Err(row.invalid());
        };
        let (_, columns) = read.last_mut().ok_or_else(|| row.error("no table yet"))?;
        columns.cells.push(Cell::parse(cell).map_err(|problem| row.error(problem))?);
        if name != "-" {
            columns.definitions.push(Column {
                name: Text::Borrowed(name),
                value_type: Text::Borrowed(value_type),
                format: Text::Borrowed(table::value(format)),
                description: Text::default(),
                priority: priority
                    .parse()
                    .map_err(|_| row.error(format!("invalid priority {priority:?}")))?,
            });
        }
    }
    let missing = || TableError { line: text.lines().count(), problem: "no table for all others".to_owned() };
    let (_, others) = read.pop_if(|(names, _)| *names == ("*", "*", "*")).ok_or_else(missing)?;
    let index = read.iter().enumerate().map(|(at, (names, _))| (*names, at)).collect();
    Ok(Tables { tables: read.into_iter().map(|(_, columns)| columns).collect(), index, others })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn timestamps_are_in_date_columns() {
        let types = |columns: &Columns| -> Vec<(String, String)> {
            columns
                .definitions_with_dates()
                .into_iter()
                .map(|it| (it.name.into(), it.value_type.into()))
                .collect()
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
    fn timestamps_can_be_absolute() {
        let now = "2026-11-15T10:00:00Z".parse().unwrap();
        let pod = json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T09:00:00Z"},
            "status": {"containerStatuses": [{"restartCount": 3,
                "lastState": {"terminated": {"finishedAt": "2026-11-15T09:55:00Z"}}}]}});
        let pods = columns("", "v1", "pods");
        assert_eq!(pods.row(&pod, TimestampFormat::Age { now })[3..5], [json!("3 (5m ago)"), json!("60m")]);
        assert_eq!(
            pods.row(&pod, TimestampFormat::Absolute)[3..5],
            [json!("3 (2026-11-15T09:55:00Z ago)"), json!("2026-11-15T09:00:00Z")]
        );
        let duration = |status: Value| {
            columns("batch", "v1", "jobs").row(&json!({"status": status}), TimestampFormat::Absolute)[3]
                .clone()
        };
        assert_eq!(duration(json!({})), "");
        assert_eq!(duration(json!({"startTime": "2026-11-15T09:00:00Z"})), "2026-11-15T09:00:00Z");
        let ended = json!({"startTime": "2026-11-15T09:00:00Z", "completionTime": "2026-11-15T09:00:07Z"});
        assert_eq!(duration(ended), "7s");
        let cron_job = columns("batch", "v1", "cronjobs").row(&json!({}), TimestampFormat::Absolute);
        assert_eq!(cron_job[5], "<none>");
        let event = json!({"lastTimestamp": "2026-11-15T09:00:00Z"});
        let events = columns("", "v1", "events");
        assert_eq!(events.row(&event, TimestampFormat::Absolute)[0], "2026-11-15T09:00:00Z");
        assert_eq!(events.row(&json!({}), TimestampFormat::Absolute)[0], "<unknown>");
        let widgets = Columns::custom(&[]);
        assert_eq!(widgets.row(&pod, TimestampFormat::Absolute)[1], "2026-11-15T09:00:00Z");
    }

    #[test]
    fn invalid_tables_are_rejected_with_a_line_number() {
        let problem = |text| read(text).err().expect("the table is wrong").to_string();
        assert_eq!(problem("Name | string | name | 0 | name"), "line 1: no table yet");
        assert_eq!(problem("table - pods"), "line 1: invalid row \"table - pods\"");
        assert_eq!(problem("table - v1 pods\nName | x"), "line 2: invalid row \"Name | x\"");
        assert_eq!(problem("table - v1 pods\nA | string | - | 0 | guess"), "line 2: unknown cell \"guess\"");
        assert_eq!(problem("table - v1 pods\nA | string | - | x | name"), "line 2: invalid priority \"x\"");
        assert_eq!(problem(""), "line 0: no table for all others");
    }
}
