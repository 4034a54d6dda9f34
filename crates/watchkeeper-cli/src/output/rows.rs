//! Row printer: prints tables as kubectl does.
//!
//! Input: [`Table`]s of one resource: the pages of a list, or the events of a watch.
//! Output: a [`TabWriter`]. Headers are written once, and again when the columns change.

use serde_json::Value;
use watchkeeper_core::{GroupVersionKind, Timestamp, elapsed};
use watchkeeper_wire::json_path::go_value;

use super::colour::{Colour, Colours};
use super::tab_writer::TabWriter;
use super::table::{Column, Row, Table, format_labels};

/// Rows between two flushes, so that a long table is not kept in memory.
const FLUSH_EVERY: usize = 100;

/// Options of a row printer.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowOptions {
    pub(crate) no_headers: bool,
    /// Whether columns with a priority above 0 are shown.
    pub(crate) wide: bool,
    pub(crate) with_namespace: bool,
    /// Prefix of names, such as `deployment.apps`.
    pub(crate) kind: Option<String>,
    pub(crate) label_columns: Vec<String>,
    pub(crate) show_labels: bool,
    pub(crate) colours: Colours,
}

/// A printer of the tables of one resource.
#[derive(Debug, Default)]
pub(crate) struct RowPrinter {
    options: RowOptions,
    columns: Vec<Column>,
    has_headers: bool,
}

/// Returns the prefix of names of a kind.
pub(crate) fn kind_prefix(kind: &GroupVersionKind) -> String {
    kind.group_kind().to_string().to_lowercase()
}

impl RowPrinter {
    pub(crate) fn new(options: RowOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Prints a table; `event` is the type of a watch event.
    pub(crate) fn print(&mut self, mut table: Table, event: Option<&str>, out: &mut TabWriter) {
        let mut no_headers = self.options.no_headers;
        if self.has_headers
            && (table.column_definitions.is_empty() || table.column_definitions == self.columns)
        {
            no_headers = true;
        }
        if table.column_definitions.is_empty() {
            table.column_definitions.clone_from(&self.columns);
        } else if table.column_definitions != self.columns {
            self.columns.clone_from(&table.column_definitions);
            self.has_headers = false;
        }
        self.has_headers |= !table.rows.is_empty();
        self.decorate(&mut table);
        if let Some(event) = event {
            table.column_definitions.insert(0, Column::named("Event"));
            let event = Value::from(format!("{event:<8}"));
            table.rows.iter_mut().for_each(|row| row.cells.insert(0, event.clone()));
        }
        self.write(&table, no_headers, out);
    }

    /// Prints the name and age of an object that the server did not render as a table.
    pub(crate) fn print_object(&mut self, object: &Value, event: Option<&str>, out: &mut TabWriter) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let age = match text("creationTimestamp").parse::<Timestamp>() {
            Ok(created) => elapsed(created, Timestamp::now()),
            Err(_) => "<unknown>".to_owned(),
        };
        let name = Column { format: "name".to_owned(), ..Column::named("Name") };
        let row = Row { cells: vec![text("name").into(), age.into()], object: object.clone() };
        let table = Table { column_definitions: vec![name, Column::named("Age")], rows: vec![row] };
        self.print(table, event, out);
    }

    /// Adds namespace, kind and labels.
    fn decorate(&self, table: &mut Table) {
        let options = &self.options;
        let is_name = |column: &Column| column.format == "name" && column.data_type == "string";
        let names = options.kind.as_ref().and_then(|_| table.column_definitions.iter().position(is_name));
        let width = table.column_definitions.len();
        for row in &mut table.rows {
            if let (Some(kind), Some(name)) =
                (&options.kind, names.and_then(|position| row.cells.get_mut(position)))
            {
                *name = format!("{kind}/{}", go_value(name)).into();
            }
            if !options.label_columns.is_empty() || options.show_labels {
                row.cells.resize(row.cells.len().max(width), Value::Null);
                let labels = row.labels();
                let value = |key: &String| labels.as_ref().map(|labels| labels.get(&**key).copied());
                let mut cells: Vec<Value> = options
                    .label_columns
                    .iter()
                    .map(|key| value(key).map_or(Value::Null, |value| value.unwrap_or_default().into()))
                    .collect();
                if options.show_labels {
                    cells.push(labels.as_ref().map(format_labels).into());
                }
                row.cells.extend(cells);
            }
            if options.with_namespace {
                let namespace = row.namespace().map_or(Value::Null, Value::from);
                row.cells.insert(0, namespace);
            }
        }
        if options.with_namespace {
            table.column_definitions.insert(0, Column::named("Namespace"));
        }
        let header = |label: &String| label.rsplit('/').next().unwrap_or_default().to_uppercase();
        table
            .column_definitions
            .extend(options.label_columns.iter().map(|label| Column::named(header(label))));
        if options.show_labels {
            table.column_definitions.push(Column::named("Labels"));
        }
    }

    /// Returns the colour of a state: by health if the whole object is known, otherwise by name.
    fn colour(&self, row: &Row, state: &str) -> Option<Colour> {
        let colours = self.options.colours;
        match row.verdict() {
            Some(health) => colours.of_health(health),
            None => colours.of_state(state),
        }
    }

    fn write(&self, table: &Table, no_headers: bool, out: &mut TabWriter) {
        if table.rows.is_empty() {
            return;
        }
        let is_shown = |column: &Column| self.options.wide || column.priority == 0;
        let shown: Vec<usize> = (0..table.column_definitions.len())
            .filter(|at| is_shown(&table.column_definitions[*at]))
            .collect();
        // The first line is padded to the widest cell of all rows, in bytes, so that rows align across flushes.
        let widest: Vec<usize> = shown
            .iter()
            .map(|at| {
                table.rows.iter().filter_map(|row| row.cells.get(*at)).map(|cell| text(cell).len()).max()
            })
            .map(Option::unwrap_or_default)
            .collect();
        let pad = |position: usize, length: usize, out: &mut TabWriter| {
            if position + 1 < shown.len() {
                out.write(&" ".repeat(widest[position].saturating_sub(length)));
            }
        };
        if !no_headers {
            for (position, at) in shown.iter().enumerate() {
                out.write(if position > 0 { "\t" } else { "" });
                out.colour(self.options.colours.of_header());
                let name = table.column_definitions[*at].name.to_uppercase();
                out.write(&name);
                pad(position, name.len(), out);
            }
            out.write("\n");
        }
        for (number, row) in table.rows.iter().enumerate() {
            let cells = shown.iter().map(|at| (*at, row.cells.get(*at)));
            for (position, (at, cell)) in cells.enumerate() {
                let Some(cell) = cell else { break };
                out.write(if position > 0 { "\t" } else { "" });
                let cell = text(cell);
                if is_state(&table.column_definitions[at]) {
                    out.colour(self.colour(row, &cell));
                }
                out.write(&escaped(&cell));
                if no_headers && number == 0 {
                    pad(position, cell.len(), out);
                }
            }
            out.write("\n");
            if (number + 1) % FLUSH_EVERY == 0 {
                out.flush();
            }
        }
    }
}

/// Returns whether a column shows the state of an object.
fn is_state(column: &Column) -> bool {
    ["status", "phase", "type"].contains(&column.name.to_lowercase().as_str())
}

fn text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        cell => go_value(cell).to_string(),
    }
}

/// Returns the first line, with characters that would control the terminal escaped.
fn escaped(cell: &str) -> String {
    match cell.find(['\n', '\r', '\x0c']) {
        Some(end) => format!("{}...", cell[..end].replace('\u{1b}', "^[")),
        None => cell.replace('\u{1b}', "^["),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(rows: &[(&str, &str)]) -> Table {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(name, wide)| {
                let labels = json!({"app.io/name": "web", "tier": "front"});
                json!({"cells": [name, 3, wide], "object": {"metadata": {"namespace": "shop", "labels": labels}}})
            })
            .collect();
        let columns = json!([{"name": "Name", "type": "string", "format": "name"}, {"name": "Count", "type": "integer"},
            {"name": "More", "type": "string", "priority": 1}]);
        serde_json::from_value(json!({"columnDefinitions": columns, "rows": rows})).unwrap()
    }

    fn printed(options: RowOptions, tables: Vec<(Table, Option<&str>)>) -> String {
        let (mut printer, mut out) = (RowPrinter::new(options), TabWriter::default());
        for (table, event) in tables {
            printer.print(table, event, &mut out);
        }
        out.flush();
        out.take()
    }

    #[test]
    fn options_select_the_columns() {
        let rows = || vec![(table(&[("a", "x"), ("long-name", "y\nz")]), None)];
        let options = RowOptions::default();
        assert_eq!(printed(options.clone(), rows()), "NAME        COUNT\na           3\nlong-name   3\n");
        let wide = RowOptions { wide: true, no_headers: true, ..options.clone() };
        assert_eq!(printed(wide, rows()), "a           3     x\nlong-name   3     y...\n");
        let more = RowOptions {
            with_namespace: true,
            kind: Some("deployment.apps".into()),
            label_columns: vec!["app.io/name".into(), "none".into()],
            show_labels: true,
            ..options
        };
        assert_eq!(
            printed(more, vec![(table(&[("a", "")]), None)]),
            "NAMESPACE   NAME                COUNT   NAME   NONE   LABELS\n\
             shop        deployment.apps/a   3       web           app.io/name=web,tier=front\n"
        );
    }

    #[test]
    fn headers_are_printed_once_and_the_event_type_comes_first() {
        let follow = Table { column_definitions: Vec::new(), ..table(&[("b", "")]) };
        let printed = printed(
            RowOptions::default(),
            vec![(table(&[("a", "")]), Some("ADDED")), (follow, Some("MODIFIED"))],
        );
        assert_eq!(printed, "EVENT      NAME   COUNT\nADDED      a      3\nMODIFIED   b      3\n");
    }

    #[test]
    fn rows_with_too_few_or_too_many_cells_are_printed() {
        let mut odd = table(&[("a", ""), ("b", ""), ("c", "")]);
        odd.rows[0].cells.truncate(1);
        odd.rows[1].cells.extend([json!(1), json!(2)]);
        odd.rows[2].cells = vec![json!("\u{1b}[31mred"), Value::Null];
        assert_eq!(
            printed(RowOptions::default(), vec![(odd, None)]),
            "NAME       COUNT\na\nb           3\n^[[31mred   \n"
        );
        assert_eq!(printed(RowOptions::default(), vec![(table(&[]), None)]), "");
    }
}
