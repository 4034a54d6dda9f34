//! `watchkeeper get`: prints objects of any resource, once or as they change.
//!
//! Input: tables, or objects for the formats that need them.
//! Output: standard output, formatted as kubectl does.

mod fetch;
mod print;
mod watch;

use clap::Args;

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::{Format, OutputFlags, RelaxedPath};
use crate::program;
use crate::selection::{Selection, Selectors};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Objects to get: pods, po,svc, deploy/web, pod a b, deployments.v1.apps, all
    #[arg(value_name = "TYPE[/NAME]")]
    resources: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    /// After listing the objects, watch for changes
    #[arg(short, long)]
    watch: bool,
    /// Watch for changes without listing the objects first
    #[arg(long)]
    watch_only: bool,
    /// Print the type of each watch event; with --watch or --watch-only
    #[arg(long)]
    output_watch_events: bool,
    /// Do not fail if an object is not found
    #[arg(long)]
    ignore_not_found: bool,
    /// Number of objects to request at a time; 0 for all at once
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    chunk_size: u32,
    /// Sort by this field, such as .metadata.creationTimestamp
    #[arg(long, value_name = "PATH")]
    sort_by: Option<String>,
    #[command(flatten)]
    output: OutputFlags,
}

/// A parsed and checked `get` command.
struct Get<'a> {
    arguments: &'a Arguments,
    connection: Connection,
    format: Format,
    sort_by: Option<RelaxedPath>,
}

pub(crate) async fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    let is_watch = arguments.watch || arguments.watch_only;
    if arguments.resources.is_empty() && !is_watch {
        let program = program::name();
        return Err(Failure::verbatim(format!(
            "You must specify the type of resource to get. Use \"{program} api-resources\" for a complete list of \
             supported resources.\n\nerror: Required resource not specified.\nSee '{program} get -h' for help and \
             examples"
        )));
    }
    let format = Format::parse(&arguments.output.output)?;
    let sort_by = arguments.sort_by.as_deref().filter(|path| !path.is_empty());
    let sort_by = sort_by.map(RelaxedPath::parse).transpose()?;
    arguments.check(&format)?;
    let get = Get { arguments, connection: Connection::open(flags)?, format, sort_by };
    let selection = Selection::of(&arguments.resources, &arguments.selectors, &get.connection).await?;
    if is_watch { get.watch(&selection).await } else { get.once(&selection).await }
}

impl Arguments {
    /// Rejects combinations of flags that exclude each other.
    fn check(&self, format: &Format) -> Result<(), Failure> {
        let OutputFlags { output, show_labels, label_columns, .. } = &self.output;
        if *show_labels && !format.is_table() {
            return Err(Failure::error(format!("--show-labels option cannot be used with {output} printer")));
        }
        if !label_columns.is_empty() && matches!(format, Format::CustomColumns(_)) {
            return Err(Failure::error(format!(
                "--label-columns option cannot be used with {output} printer"
            )));
        }
        if self.output_watch_events && !self.watch && !self.watch_only {
            return Err(Failure::error(
                "--output-watch-events option can only be used with --watch or --watch-only",
            ));
        }
        if self.sort_by.is_some() && self.watch {
            eprintln!("warning: --watch requested, --sort-by will be ignored for watch events received");
        } else if self.sort_by.is_some() && self.watch_only {
            eprintln!("warning: --watch-only requested, --sort-by will be ignored");
        }
        Ok(())
    }
}

impl Get<'_> {
    async fn once(&self, selection: &Selection) -> Result<(), Failure> {
        let (fetched, mut failures) = self.fetch(selection).await;
        if self.arguments.ignore_not_found {
            failures.retain(|failure| !failure.is_not_found());
        }
        if self.format.is_table() {
            self.print_rows(fetched, failures)
        } else {
            self.print_objects(selection, fetched, failures)
        }
    }
}
