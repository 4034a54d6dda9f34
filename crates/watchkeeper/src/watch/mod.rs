//! `watchkeeper watch`: every event of a resource, as it comes.
//!
//! From: a server's watch, through the reflector, which survives what happens to watches.
//! To:   standard output, an event at a time; what goes wrong, and what is done about it, to standard error.
//!
//! - V1: no event that the server tells is left out or merged with another, and none is told twice.
//! - V2: where the server has forgotten what happened, what a new list shows to have changed is told instead, and
//!   standard error says so.
//! - V3: no event is read from the server before the one before it has been written. A reader of standard output
//!   that is slow holds up the watch, not memory; if the server then ends the watch, it goes on where it was (V2).
//! - V4: before the first list any failure is the end; after it none is.

mod rows;
mod story;
mod telling;
mod weather;

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
use watchkeeper_wire::{Intake, Kind, Paths};

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::OutputFlags;
use crate::progress::Progress;
use crate::selection::{Asked, Selection, Selectors};
use crate::signal::Interrupt;
use story::Story;
pub(crate) use story::Tell;
use telling::Telling;
use weather::{Heard, Weather};

#[derive(Args)]
pub(crate) struct Arguments {
    /// What to watch: pods, deployments.apps, pod/web-0, or a resource and a name
    #[arg(value_name = "RESOURCE", required = true)]
    resources: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    output: OutputFlags,
    /// How long to watch: 30s, 5m [default: until it is interrupted]
    #[arg(long, value_name = "TIME", value_parser = parse_ttl)]
    timeout: Option<Duration>,
}

/// Watches until it is interrupted, its time is up, or nobody reads any more: none of these is a failure.
pub(crate) fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    on_two_threads(watch_selected(arguments, flags))
}

/// Runs a command of which one thread may be held up by standard output (V3): Ctrl-C is for the other.
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
    let telling = Telling::of(&arguments.output, mapping, selection.namespace.is_empty())?;
    let managed_fields = arguments.output.show_managed_fields;
    let source = source(&connection, &selection, mapping, name, &telling, managed_fields)?;
    follow(source, &mapping.resource.resource, telling, arguments.timeout).await
}

/// Tells every event of a source, until it is interrupted or the time is up.
pub(crate) async fn follow(
    source: Box<dyn ListWatch>,
    what: &str,
    tell: impl Tell + 'static,
    timeout: Option<Duration>,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let is_enough = Arc::new(Notify::new());
    let story = Story::new(tell, is_enough.clone());
    let (weather, failed) = Weather::new(what);
    let reflector = Reflector::new(Heard::new(source, what), story).observer(weather);
    let progress = reflector.progress();
    let stop = async move { is_enough.notified().await };
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

/// Shows how far the first list has come, and never ends.
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

/// The one resource that is meant, and the one object, if only one is.
fn one_of(selection: &Selection) -> Result<(&Mapping, Option<&str>), Failure> {
    match &selection.asked {
        Asked::Lists(mappings) if mappings.len() == 1 => Ok((&mappings[0], None)),
        Asked::Named(named) if named.len() == 1 => Ok((&named[0].0, Some(&named[0].1))),
        _ => Err(Failure::error("watch is only supported on individual resources and resource collections")),
    }
}

/// Where events come from: rows, objects, or their metadata, by what is told of them.
fn source(
    connection: &Connection,
    selection: &Selection,
    mapping: &Mapping,
    name: Option<&str>,
    telling: &Telling,
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
    if let Some(columns) = telling.columns() {
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
    let source = if telling.needs_bodies() { source } else { source.metadata_only() };
    Ok(Box::new(match managed_fields {
        true => source.intake(Intake { cut: Paths::none(), ..Intake::default() }),
        false => source,
    }))
}

async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
