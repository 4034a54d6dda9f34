//! Output: what was read, as the user wants to see it, and byte for byte as kubectl prints it.
//!
//! | to print | there is |
//! |---|---|
//! | what `-o` says | [`Format`] |
//! | the server's tables | [`Table`], [`RowPrinter`] onto a [`TabWriter`] |
//! | objects as JSON, YAML, names, paths, columns | [`ObjectPrinter`] |
//! | in another order | [`sort_by`] |
//! | states that stand out, on a terminal only | [`Colours`] |

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

/// The flags of a command that prints objects.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// How to print: wide, json, yaml, name, jsonpath=..., jsonpath-file=..., jsonpath-as-json=...,
    /// custom-columns=..., custom-columns-file=... [default: a table]
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    pub(crate) output: String,
    /// Print no headers
    #[arg(long)]
    pub(crate) no_headers: bool,
    /// Print all labels as the last column
    #[arg(long)]
    pub(crate) show_labels: bool,
    /// Print these labels as columns; may be given several times
    #[arg(short = 'L', long, value_name = "KEYS", value_delimiter = ',')]
    pub(crate) label_columns: Vec<String>,
    /// Print the kind before names
    #[arg(long)]
    pub(crate) show_kind: bool,
    /// Print who has written what, in JSON and YAML
    #[arg(long)]
    pub(crate) show_managed_fields: bool,
}

impl OutputFlags {
    /// What the rows of a table show.
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
