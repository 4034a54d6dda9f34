//! Rows: tables as kubectl prints them, one below the other.
//!
//! From: [`Table`]s of one resource: the pages of a list, or the events of a watch.
//! To:   a [`TabWriter`]. Headers are written once, and again where the columns change.

use serde_json::Value;
use watchkeeper_core::{GroupVersionKind, Timestamp, elapsed};
use watchkeeper_wire::json_path::go_value;

use super::colour::{Colour, Colours};
use super::tab_writer::TabWriter;
use super::table::{Column, Row, Table, format_labels};

/// After how many rows they are laid out, so that a long table does not wait in memory.
const FLUSH_EVERY: usize = 100;

/// What is shown of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowOptions {
    pub(crate) no_headers: bool,
    /// All columns, not only those of priority 0.
    pub(crate) wide: bool,
    pub(crate) with_namespace: bool,
    /// Stands before names: `deployment.apps`.
    pub(crate) kind: Option<String>,
    pub(crate) label_columns: Vec<String>,
    pub(crate) show_labels: bool,
    pub(crate) colours: Colours,
}

/// Prints tables of one resource.
#[derive(Debug, Default)]
pub(crate) struct RowPrinter {
    options: RowOptions,
    columns: Vec<Column>,
    has_headers: bool,
}

/// What stands before the names of a kind.
pub(crate) fn kind_prefix(kind: &GroupVersionKind) -> String {
    kind.group_kind().to_string().to_lowercase()
}

impl RowPrinter {
    pub(crate) fn new(options: RowOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Prints a table, or what a watch says of its objects.
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

    /// Prints an object of which the server has made no table: its name and age.
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

    /// Adds namespaces, kinds and labels.
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

    /// The colour of a state: by the verdict where the whole object is there, by the word where it is not.
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
        // The widest cell of all rows, in bytes: the first line is that wide, so that those that are flushed
        // before the others are below each other all the same.
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

/// Whether the cells of a column say how an object is.
fn is_state(column: &Column) -> bool {
    ["status", "phase", "type"].contains(&column.name.to_lowercase().as_str())
}

fn text(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        cell => go_value(cell).to_string(),
    }
}

/// The first line, and nothing that a terminal would take for an order.
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
    fn columns_are_shown_as_they_are_asked_for() {
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
    fn headers_come_once_and_events_before_all_else() {
        let follow = Table { column_definitions: Vec::new(), ..table(&[("b", "")]) };
        let printed = printed(
            RowOptions::default(),
            vec![(table(&[("a", "")]), Some("ADDED")), (follow, Some("MODIFIED"))],
        );
        assert_eq!(printed, "EVENT      NAME   COUNT\nADDED      a      3\nMODIFIED   b      3\n");
    }

    #[test]
    fn rows_that_are_too_short_or_too_long_are_no_harm() {
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
