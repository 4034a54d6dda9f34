//! `watchkeeper watch`: prints every watch event of a resource as it arrives.
//!
//! Input: a watch, through the reflector, which relists and rewatches as needed.
//! Output: one event at a time on standard output; problems, and what is done about them, on standard error.
//!
//! Invariants:
//! - `cli_watch.W1`: no event that the server sends is omitted, merged with another or printed twice.
//! - `cli_watch.W2`: if the server has compacted past the watch, the differences to a new list are printed instead, and
//!   standard error reports it.
//! - `cli_watch.W3`: an event is read from the server only after the previous one has been written. A slow reader of
//!   standard output delays the watch and does not use memory; if the server then ends the watch, it resumes
//!   (`cli_watch.W2`).
//! - `cli_watch.W4`: before the first list is complete any failure ends the command; after it none does.

mod change_printer;
mod event_printer;
mod rows;
mod status_reporter;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::sync::{Notify, watch};
use watchkeeper_apiserver::expiry::parse_ttl;
use watchkeeper_cache::Reflector;
use watchkeeper_cache::reflector::{self, Phase};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::source::RestSource;
use watchkeeper_core::{FieldSelector, LabelSelector, ListWatch};
use watchkeeper_wire::{Kind, Paths, ReadOptions};

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::OutputFlags;
use crate::progress::Progress;
use crate::selection::{Asked, Selection, Selectors};
use crate::signal::Interrupt;
use change_printer::ChangePrinter;
pub(crate) use change_printer::WriteEvent;
use event_printer::EventPrinter;
use status_reporter::{ReportInterruptions, WatchStatusReporter};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Resource to watch: pods, deployments.apps, pod/web-0, or a resource and a name
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    output: OutputFlags,
    /// Time to watch, such as 30s or 5m [default: until interrupted]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    timeout: Option<Duration>,
}

/// Watches until interrupted, the timeout has passed, or standard output is closed; none of these is a failure.
pub(crate) fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    on_two_threads(watch_selected(arguments, flags))
}

/// Runs a command whose writes may block one thread (`cli_watch.W3`); the other thread handles Ctrl-C.
pub(crate) fn on_two_threads(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::of(&error))?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    outcome
}

async fn watch_selected(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    let connection = Connection::open(flags)?;
    let selection = Selection::of(&arguments.resources, &arguments.selectors, &connection).await?;
    let (mapping, name) = one_of(&selection)?;
    let printer = EventPrinter::of(&arguments.output, mapping, selection.namespace.is_empty())?;
    let managed_fields = arguments.output.show_managed_fields;
    let source = source(&connection, &selection, mapping, name, &printer, managed_fields)?;
    follow(source, &mapping.resource.resource, printer, arguments.timeout).await
}

/// Prints every event of a source until interrupted or the timeout has passed.
pub(crate) async fn follow(
    source: Box<dyn ListWatch>,
    what: &str,
    writer: impl WriteEvent + 'static,
    timeout: Option<Duration>,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let is_closed = Arc::new(Notify::new());
    let changes = ChangePrinter::new(writer, is_closed.clone());
    let (reporter, failed) = WatchStatusReporter::new(what);
    let reflector = Reflector::new(ReportInterruptions::new(source, what), changes).observer(reporter);
    let progress = reflector.progress();
    let stop = async move { is_closed.notified().await };
    let watching = tokio::spawn(reflector.run(stop));
    tokio::select! {
        ended = watching => match ended {
            Ok(ended) => ended.sink.outcome().map_err(Failure::from),
            Err(panic) => Err(Failure::of(&panic)),
        },
        Ok(failure) = failed => Err(failure),
        () = interrupt.wait() => Ok(()),
        () = after(timeout) => Ok(()),
        outcome = show(what, progress) => outcome,
    }
}

/// Shows the progress of the first list. Never completes.
async fn show(what: &str, mut progress: watch::Receiver<reflector::Progress>) -> Result<(), Failure> {
    let mut bar = Progress::of(what);
    loop {
        let now = progress.borrow_and_update().clone();
        if now.phase == Phase::Watching {
            break;
        }
        let done = usize::try_from(now.items).unwrap_or(usize::MAX);
        bar.update(done, now.of.map(|of| of.saturating_sub(now.items)));
        if progress.changed().await.is_err() {
            break;
        }
    }
    drop(bar);
    std::future::pending().await
}

/// Returns the only selected resource, and the object's name if a single object is selected.
fn one_of(selection: &Selection) -> Result<(&Mapping, Option<&str>), Failure> {
    match &selection.asked {
        Asked::Lists(mappings) if mappings.len() == 1 => Ok((&mappings[0], None)),
        Asked::Named(named) if named.len() == 1 => Ok((&named[0].0, Some(&named[0].1))),
        _ => Err(Failure::error("watch is only supported on individual resources and resource collections")),
    }
}

/// Creates the source of events: table rows, objects or metadata, depending on what is printed.
fn source(
    connection: &Connection,
    selection: &Selection,
    mapping: &Mapping,
    name: Option<&str>,
    printer: &EventPrinter,
    managed_fields: bool,
) -> Result<Box<dyn ListWatch>, Failure> {
    let labels: LabelSelector = selection.labels.parse().map_err(|error| Failure::of(&error))?;
    let fields = match name {
        Some(name) => format!("metadata.name={name}"),
        None => selection.fields.clone(),
    };
    let fields: FieldSelector = fields.parse().map_err(|error| Failure::of(&error))?;
    let (resource, kind) = (&mapping.resource, &mapping.kind);
    let rest = connection.rest(&resource.group_version());
    let namespace = selection.namespace_of(mapping).to_owned();
    if let Some(columns) = printer.columns() {
        let resource = resource.resource.clone();
        let request = move |query| {
            let request = rest.get().resource(&resource).params(query).selecting(&labels, &fields);
            if namespace.is_empty() { request } else { request.namespace(&namespace) }
        };
        return Ok(Box::new(rows::source(request, columns)));
    }
    let kind = Kind::new(&kind.group, &kind.version, &kind.kind);
    let source = RestSource::new(rest, &resource.resource, kind).labels(labels).fields(fields);
    let source = if namespace.is_empty() { source } else { source.namespace(&namespace) };
    let source = if printer.needs_bodies() { source } else { source.metadata_only() };
    Ok(Box::new(if managed_fields {
        source.read_options(ReadOptions { cut: Paths::none(), ..ReadOptions::default() })
    } else {
        source
    }))
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
