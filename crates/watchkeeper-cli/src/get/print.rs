//! Printing of fetched objects.

use serde_json::Value;

use super::Get;
use super::fetch::Fetched;
use crate::failure::Failure;
use crate::output::{
    Format, ObjectPrinter, RowOptions, RowPrinter, TabWriter, Table, kind_prefix, list, sort_by,
};
use crate::selection::Selection;
use crate::stdout::print;

impl Get<'_> {
    /// Prints one table per resource, separated by empty lines.
    pub(super) fn print_rows(
        &self,
        fetched: Vec<Fetched>,
        mut failures: Vec<Failure>,
    ) -> Result<(), Failure> {
        let with_kind = fetched
            .iter()
            .any(|other| fetched.first().is_some_and(|first| first.mapping.kind != other.mapping.kind));
        let is_all_namespaced =
            !self.arguments.selectors.all_namespaces && fetched.iter().all(|one| one.mapping.namespaced);
        let (mut sections, mut out) = (Vec::new(), TabWriter::default());
        let mut last: Option<(String, RowPrinter)> = None;
        // Once a resource is namespaced, all following tables have the column.
        let mut with_namespace = false;
        for Fetched { mapping, body } in fetched {
            let resource = mapping.resource.to_string();
            let printer = match &mut last {
                Some((known, printer)) if *known == resource => printer,
                slot => {
                    sections.push(section(&mut out));
                    with_namespace |= self.arguments.selectors.all_namespaces && mapping.namespaced;
                    let kind =
                        (with_kind || self.arguments.output.show_kind).then(|| kind_prefix(&mapping.kind));
                    let options = RowOptions { with_namespace, kind, ..self.row_options() };
                    &mut slot.insert((resource, RowPrinter::new(options))).1
                }
            };
            if let Err(failure) = self.print_body(&body, None, printer, &mut out) {
                failures.push(failure);
            }
        }
        sections.push(section(&mut out));
        sections.retain(|section| !section.is_empty());
        let text = sections.join(if self.arguments.output.no_headers { "" } else { "\n" });
        print(text.as_bytes())?;
        if text.is_empty() && !self.arguments.ignore_not_found && failures.is_empty() {
            if is_all_namespaced {
                eprintln!("No resources found in {} namespace.", self.connection.namespace);
            } else {
                eprintln!("No resources found");
            }
        }
        Failure::all(failures)
    }

    /// Prints the rows of a table, or of objects if the server sent no table.
    pub(super) fn print_body(
        &self,
        body: &Value,
        event: Option<&str>,
        printer: &mut RowPrinter,
        out: &mut TabWriter,
    ) -> Result<(), Failure> {
        match Table::of(body) {
            Some(table) => {
                let mut table = table.map_err(|error| Failure::error(format!("invalid table: {error}")))?;
                if let Some(path) = &self.sort_by
                    && event.is_none()
                {
                    sort_by(&mut table.rows, path, |row| &row.object)?;
                }
                printer.print(table, event, out);
            }
            None => {
                let items = match body["items"].as_array() {
                    Some(items) => items.as_slice(),
                    None => std::slice::from_ref(body),
                };
                items.iter().for_each(|item| printer.print_object(item, event, out));
            }
        }
        Ok(())
    }

    pub(super) fn row_options(&self) -> RowOptions {
        self.arguments.output.row_options(self.format == Format::Table { wide: true })
    }

    /// Prints the single object, or all objects as a list.
    pub(super) fn print_objects(
        &self,
        selection: &Selection,
        fetched: Vec<Fetched>,
        mut failures: Vec<Failure>,
    ) -> Result<(), Failure> {
        let mut objects: Vec<Value> = fetched.into_iter().flat_map(Fetched::into_objects).collect();
        if objects.is_empty() && self.arguments.ignore_not_found {
            return Failure::all(failures);
        }
        if selection.is_single() && !failures.is_empty() {
            return Failure::all(failures);
        }
        let mut printer = self.object_printer();
        let object = if selection.is_single() && objects.len() == 1 {
            objects.remove(0)
        } else {
            if let Some(path) = &self.sort_by
                && let Err(failure) = sort_by(&mut objects, path, |object| object)
            {
                failures.push(failure);
                return Failure::all(failures);
            }
            list(objects)
        };
        match printer.print(object) {
            Ok(text) => print(text.as_bytes())?,
            Err(failure) => failures.push(failure),
        }
        Failure::all(failures)
    }

    pub(super) fn object_printer(&self) -> ObjectPrinter {
        let flags = &self.arguments.output;
        ObjectPrinter::new(self.format.clone(), flags.no_headers, flags.show_managed_fields)
    }
}

/// Returns the finished table and starts another.
fn section(out: &mut TabWriter) -> String {
    out.flush();
    out.forget_widths();
    out.take()
}
