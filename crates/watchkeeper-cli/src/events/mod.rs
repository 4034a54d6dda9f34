//! `watchkeeper events`: prints events as `kubectl events` does.
//!
//! Input: the events of the core group, and with `--watch` new ones as they arrive.
//! Output: standard output: rows ordered by the time they were last seen, or objects.

mod row;

use std::io::{self, BufWriter, Stdout, Write};

use clap::Args;
use serde_json::{Value, json};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::source::RestSource;
use watchkeeper_core::{FieldSelector, GroupVersion, Object, Paging, WatchEventType};
use watchkeeper_wire::{Kind, Paths, ReadOptions, decode};

use crate::connect::{Connection, Flags};
use crate::failure::Failure;
use crate::output::{Format, ObjectPrinter, TabWriter};
use crate::stdout::print;
use crate::watch::{WriteEvent, follow};
use row::{last_seen, write_headers, write_row};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Show events of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Show only events of this object, for example pod/web-0
    #[arg(long = "for", value_name = "TYPE/NAME", default_value = "", hide_default_value = true)]
    about: String,
    /// Show only events of these types: Normal, Warning
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
    /// After listing the events, watch for more
    #[arg(short, long)]
    watch: bool,
    /// Number of events to request at a time; 0 for all at once
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    chunk_size: u32,
    /// Output format: json, yaml, name, jsonpath=... [default: a table]
    #[arg(short, long, value_name = "FORMAT", default_value = "", hide_default_value = true)]
    output: String,
    /// Do not print headers
    #[arg(long)]
    no_headers: bool,
    /// Keep managedFields in JSON and YAML output
    #[arg(long)]
    show_managed_fields: bool,
}

/// Prints events; with `--watch`, runs until interrupted.
pub(crate) fn run(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    crate::watch::on_two_threads(events(arguments, flags))
}

async fn events(arguments: &Arguments, flags: &Flags) -> Result<(), Failure> {
    let connection = Connection::open(flags)?;
    let fields = match &*arguments.about {
        "" => FieldSelector::default(),
        about => about_object(&connection, about).await?,
    };
    let printer = EventsPrinter::of(arguments)?;
    let is_known =
        |name: &String| name.eq_ignore_ascii_case("Normal") || name.eq_ignore_ascii_case("Warning");
    if !printer.types.iter().all(is_known) {
        return Err(Failure::error("valid --types are Normal or Warning"));
    }
    let namespace = if arguments.all_namespaces { "" } else { &connection.namespace };
    if arguments.watch {
        let rest = connection.rest(&GroupVersion::new("", "v1"));
        let source = RestSource::new(rest, "events", kind()).fields(fields).read_options(whole());
        let source = if namespace.is_empty() { source } else { source.namespace(namespace) };
        return follow(Box::new(source), "events", printer, None).await;
    }
    let mut events = list(&connection, namespace, &fields, arguments.chunk_size).await?;
    events.retain(|event| printer.is_wanted(event));
    if events.is_empty() {
        if arguments.all_namespaces {
            eprintln!("No events found.");
        } else {
            eprintln!("No events found in {namespace} namespace.");
        }
        return Ok(());
    }
    events.sort_by_key(last_seen);
    let text = printer.all(events)?;
    Ok(print(text.as_bytes())?)
}

/// Returns the field selector for the events of an object.
async fn about_object(connection: &Connection, about: &str) -> Result<FieldSelector, Failure> {
    let parts: Vec<&str> = about.split('/').collect();
    let [resource, name] = parts[..] else {
        return Err(Failure::error(match parts.len() {
            1 => "--for must be in resource/name form",
            _ => "arguments in resource/name form may not have more than one slash",
        }));
    };
    let Mapping { kind, .. } = connection.mapper.argument(&resource.to_lowercase()).await?;
    if name.is_empty() {
        return Ok(FieldSelector::default()); // kubectl then shows the events of all objects
    }
    let fields = [
        ("involvedObject.kind", kind.kind.clone()),
        ("involvedObject.apiVersion", kind.group_version().to_string()),
        ("involvedObject.name", name.to_owned()),
    ];
    let fields: Vec<String> = fields.iter().map(|(field, value)| format!("{field}={value}")).collect();
    fields.join(",").parse().map_err(|error| Failure::of(&error))
}

async fn list(
    connection: &Connection,
    namespace: &str,
    fields: &FieldSelector,
    chunk_size: u32,
) -> Result<Vec<Value>, Failure> {
    let rest = connection.rest(&GroupVersion::new("", "v1"));
    let mut events = Vec::new();
    let mut token = String::new();
    let mut paging = Paging::default();
    loop {
        let request = rest.get().resource("events").selecting(&Default::default(), fields);
        let request = if chunk_size == 0 { request } else { request.param("limit", chunk_size.to_string()) };
        let request = if namespace.is_empty() { request } else { request.namespace(namespace) };
        let request = if token.is_empty() { request } else { request.param("continue", &*token) };
        let mut page: Value = request.send().await?.into()?;
        let before = events.len();
        if let Value::Array(items) = page["items"].take() {
            events.extend(items);
        }
        token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if token.is_empty() {
            return Ok(events);
        }
        paging.advance(events.len() - before, &token).map_err(|error| Failure::of(&error))?;
    }
}

fn kind() -> Kind {
    Kind::new("", "v1", "Event")
}

/// Keeps all fields: the printer omits those that were not requested.
fn whole() -> ReadOptions {
    ReadOptions { cut: Paths::none(), ..ReadOptions::default() }
}

/// A printer of the events of the requested types.
struct EventsPrinter {
    types: Vec<String>,
    no_headers: bool,
    with_namespace: bool,
    objects: Option<ObjectPrinter>,
    table: TabWriter,
    out: BufWriter<Stdout>,
}

impl EventsPrinter {
    fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let objects = match &*arguments.output {
            "" => None,
            output => {
                let format = Format::parse_objects(output)?;
                Some(ObjectPrinter::new(format, true, arguments.show_managed_fields).by_type())
            }
        };
        Ok(Self {
            types: arguments.types.iter().filter(|it| !it.is_empty()).cloned().collect(), // `--types=` allows any
            no_headers: arguments.no_headers,
            with_namespace: arguments.all_namespaces,
            objects,
            table: TabWriter::default(),
            out: BufWriter::new(io::stdout()),
        })
    }

    fn is_wanted(&self, event: &Value) -> bool {
        let of = event["type"].as_str().unwrap_or_default();
        self.types.is_empty() || self.types.iter().any(|wanted| wanted.eq_ignore_ascii_case(of))
    }

    /// Formats all events at once.
    fn all(mut self, events: Vec<Value>) -> Result<String, Failure> {
        let Some(objects) = &mut self.objects else {
            for event in &events {
                self.row(event);
            }
            self.table.flush();
            return Ok(self.table.take());
        };
        let events: Vec<Value> = events.into_iter().map(typed).collect();
        let mut list = json!({"kind": "EventList", "apiVersion": "v1", "metadata": {}});
        list["items"] = events.into();
        objects.print(list)
    }

    fn row(&mut self, event: &Value) {
        if !std::mem::replace(&mut self.no_headers, true) {
            write_headers(self.with_namespace, &mut self.table);
        }
        write_row(event, self.with_namespace, &mut self.table);
    }
}

/// Adds apiVersion and kind, which the items of a list lack.
fn typed(mut event: Value) -> Value {
    event["apiVersion"] = "v1".into();
    event["kind"] = "Event".into();
    event
}

impl WriteEvent for EventsPrinter {
    fn needs_bodies(&self) -> bool {
        true
    }

    /// Ignores deletions: the expiry of an event is not an event.
    fn write(&mut self, kind: WatchEventType, object: &Object) -> io::Result<()> {
        if kind == WatchEventType::Deleted {
            return Ok(());
        }
        let event: Value = decode(&object.encoded, &self::kind()).map_err(io::Error::other)?;
        if !self.is_wanted(&event) {
            return Ok(());
        }
        match &mut self.objects {
            Some(objects) => {
                let text = objects.print(typed(event));
                let text = text.map_err(|error| io::Error::other(error.to_string()))?;
                self.out.write_all(text.as_bytes())
            }
            None => {
                self.row(&event);
                self.table.flush();
                let text = self.table.take();
                self.out.write_all(text.as_bytes())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
