//! Output: printers for objects and tables, byte for byte as kubectl's.
//!
//! | task | type |
//! |---|---|
//! | parse `-o` | [`Format`] |
//! | print the server's tables | [`Table`], [`RowPrinter`] onto a [`TabWriter`] |
//! | print objects as JSON, YAML, names, paths or columns | [`ObjectPrinter`] |
//! | sort | [`sort_by`] |
//! | colour states on a terminal | [`Colours`] |

mod colour;
mod columns;
mod format;
mod json;
mod objects;
mod path;
mod rows;
mod sort;
mod tab_writer;
mod table;

use clap::Args;

pub(crate) use colour::Colours;
pub(crate) use format::Format;
pub(crate) use objects::{ObjectPrinter, list};
pub(crate) use path::RelaxedPath;
pub(crate) use rows::{RowOptions, RowPrinter, kind_prefix};
pub(crate) use sort::sort_by;
pub(crate) use tab_writer::TabWriter;
pub(crate) use table::{ACCEPT, Table};

/// Flags of commands that print objects.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Output format: wide, json, yaml, name, jsonpath=..., jsonpath-file=..., jsonpath-as-json=...,
    /// custom-columns=..., custom-columns-file=... [default: a table]
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    pub(crate) output: String,
    /// Do not print headers
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Print all labels as the last column
    #[arg(long)]
    pub(crate) show_labels: bool,
    /// Print these labels as columns; can be repeated
    #[arg(short = 'L', long, value_name = "KEYS", value_delimiter = ',')]
    pub(crate) label_columns: Vec<String>,
    /// Prefix names with their kind
    #[arg(long)]
    pub(crate) show_kind: bool,
    /// Keep managedFields in JSON and YAML output
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
}

impl OutputFlags {
    /// Returns the options of a row printer.
    pub(crate) fn row_options(&self, wide: bool) -> RowOptions {
        RowOptions {
            no_headers: self.no_headers,
            wide,
            label_columns: self.label_columns.clone(),
            show_labels: self.show_labels,
            colours: Colours::of_stdout(),
            ..RowOptions::default()
        }
    }
}
