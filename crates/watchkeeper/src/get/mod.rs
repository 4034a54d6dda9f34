//! `watchkeeper get`: objects of any resource, once or as they change.
//!
//! From: the server's tables, or objects where those are asked for.
//! To:   standard output, as kubectl prints it.

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
    /// What to get: pods, po,svc, deploy/web, pod a b, deployments.v1.apps, all
    #[arg(value_name = "TYPE[/NAME]")]
    resources: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    /// Go on, and print what changes
    #[arg(short, long)]
    watch: bool,
    /// Print what changes, and not what there is
    #[arg(long)]
    watch_only: bool,
    /// Print what has happened to an object before it; with --watch or --watch-only
    #[arg(long)]
    output_watch_events: bool,
    /// Objects that do not exist are no error
    #[arg(long)]
    ignore_not_found: bool,
    /// How many objects to ask for at a time; 0 for all of them
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    chunk_size: u32,
    /// Sort by this field: .metadata.creationTimestamp
    #[arg(long, value_name = "PATH")]
    sort_by: Option<String>,
    #[command(flatten)]
    output: OutputFlags,
}

/// What was asked for, checked as far as it can be without a server.
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
        return Err(Failure::said(format!(
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
    match is_watch {
        true => get.watch(&selection).await,
        false => get.once(&selection).await,
    }
}

impl Arguments {
    /// Flags that exclude each other.
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
        match self.format.is_table() {
            true => self.print_rows(fetched, failures),
            false => self.print_objects(selection, fetched, failures),
        }
    }
}
