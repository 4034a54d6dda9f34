//! Event printer: writes watch events in the requested format.

use std::io::{self, BufWriter, Stdout, Write};

use serde_json::{Map, Value};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{GroupVersionKind, Object, WatchEventType};
use watchkeeper_wire::{Kind, decode};

use super::change_printer::WriteEvent;
use super::rows::{self, Columns};
use crate::failure::Failure;
use crate::output::{Format, ObjectPrinter, OutputFlags, RowPrinter, TabWriter};

/// A writer of watch events to standard output.
pub(super) struct EventPrinter {
    layout: Layout,
    kind: GroupVersionKind,
    /// Whether objects of more than one namespace are printed.
    in_all_namespaces: bool,
    out: BufWriter<Stdout>,
}

enum Layout {
    /// `ADDED : web-0`
    Line,
    /// Rows whose first cell is the type of the event.
    Rows { printer: RowPrinter, out: TabWriter, columns: Columns },
    /// JSON or YAML of events; names, paths or columns of their objects.
    Objects { format: Format, printer: ObjectPrinter },
}

impl EventPrinter {
    /// Creates a printer from the output flags.
    ///
    /// # Errors
    /// If the format is invalid.
    pub(super) fn of(
        flags: &OutputFlags,
        mapping: &Mapping,
        in_all_namespaces: bool,
    ) -> Result<Self, Failure> {
        let in_all_namespaces = in_all_namespaces && mapping.namespaced;
        let layout = match (&*flags.output, Format::parse(&flags.output)) {
            ("", _) => Layout::Line,
            ("table", _) => Layout::rows(flags, false, in_all_namespaces),
            (_, Ok(Format::Table { wide })) => Layout::rows(flags, wide, in_all_namespaces),
            (_, format) => {
                let format = format?;
                let printer = ObjectPrinter::new(format.clone(), flags.no_headers, flags.show_managed_fields);
                Layout::Objects { format, printer }
            }
        };
        let out = BufWriter::new(io::stdout());
        Ok(Self { layout, kind: mapping.kind.clone(), in_all_namespaces, out })
    }

    /// Returns the column definitions, if rows are printed.
    pub(super) fn columns(&self) -> Option<Columns> {
        match &self.layout {
            Layout::Rows { columns, .. } => Some(columns.clone()),
            _ => None,
        }
    }

    /// Decodes an object, and sets its apiVersion and kind.
    fn decode_object(&self, object: &Object) -> io::Result<Value> {
        let of = Kind::new(&self.kind.group, &self.kind.version, &self.kind.kind);
        let mut fields: Map<String, Value> = decode(&object.encoded, &of).map_err(io::Error::other)?;
        fields.insert("apiVersion".to_owned(), of.api_version().into());
        fields.insert("kind".to_owned(), of.kind().into());
        Ok(fields.into())
    }
}

impl Layout {
    fn rows(flags: &OutputFlags, wide: bool, with_namespace: bool) -> Self {
        let mut options = flags.row_options(wide);
        options.with_namespace = with_namespace;
        Self::Rows {
            printer: RowPrinter::new(options),
            out: TabWriter::default(),
            columns: Columns::default(),
        }
    }
}

impl WriteEvent for EventPrinter {
    fn needs_bodies(&self) -> bool {
        !matches!(self.layout, Layout::Line)
    }

    fn write(&mut self, kind: WatchEventType, object: &Object) -> io::Result<()> {
        let key = object.metadata.key();
        let value = match self.layout {
            Layout::Objects { .. } => self.decode_object(object)?,
            _ => Value::Null,
        };
        match &mut self.layout {
            Layout::Line if self.in_all_namespaces => writeln!(self.out, "{kind} : {key}"),
            Layout::Line => writeln!(self.out, "{kind} : {}", key.name()),
            Layout::Rows { printer, out, columns } => Ok(rows::print(object, kind, columns, printer, out)?),
            Layout::Objects { format, printer } => {
                let printed = match format {
                    Format::Json | Format::Yaml => printer.print_event(kind.as_str(), value),
                    _ => printer.print(value),
                };
                self.out.write_all(printed.map_err(|error| io::Error::other(error.to_string()))?.as_bytes())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Layout::Rows { out, .. } = &mut self.layout {
            out.flush();
            self.out.write_all(out.take().as_bytes())?;
        }
        self.out.flush()
    }
}
