//! `get --watch`: prints the list, then every watch event.

use std::ops::ControlFlow;

use bytes::BytesMut;
use serde::Deserialize;
use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::rest::Request;
use watchkeeper_client::transport::Body;
use watchkeeper_core::Status;

use super::Get;
use super::fetch::{Fetched, select};
use crate::failure::Failure;
use crate::output::{ObjectPrinter, RowOptions, RowPrinter, TabWriter, kind_prefix};
use crate::selection::{Asked, Selection};
use crate::stdout::print_more;

/// Longest accepted watch event, in bytes.
const LONGEST: usize = 64 << 20;

/// A watch event.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// The printer of one watch.
enum Printer {
    Rows(Box<RowPrinter>, TabWriter),
    Objects(ObjectPrinter),
}

impl Get<'_> {
    /// Runs until the server ends the watch, or standard output is closed.
    pub(super) async fn watch(&self, selection: &Selection) -> Result<(), Failure> {
        let mapping = selection.single_resource()?;
        let (fetched, mut failures) = self.fetch(selection).await;
        if self.arguments.ignore_not_found {
            failures.retain(|failure| !failure.is_not_found());
            if fetched.is_empty() && failures.is_empty() {
                return Ok(());
            }
        }
        Failure::all(failures)?;
        let version = fetched.last().map(Fetched::version).unwrap_or_default().to_owned();
        let mut printer = self.printer(mapping);
        if !self.arguments.watch_only {
            for one in fetched {
                let event = self.arguments.output_watch_events.then_some("ADDED");
                if self.print_all(one, event, &mut printer)?.is_break() {
                    return Ok(());
                }
            }
        }
        let request = self.watch_request(selection, mapping, &version)?;
        let body = request.open_watch().await?.into_body();
        self.follow(Events::of(body), printer, selection.is_single()).await
    }

    /// Watches from the list's resource version; a single object from "0", where the first event is its current state.
    fn watch_request(
        &self,
        selection: &Selection,
        mapping: &Mapping,
        version: &str,
    ) -> Result<Request, Failure> {
        let request = self.request(selection, mapping).param("watch", "true");
        match &selection.asked {
            Asked::Lists(_) => Ok(select(request, selection).param("resourceVersion", version)),
            Asked::Named(named) => match named.as_slice() {
                [(_, name)] => {
                    let request = request.param("fieldSelector", format!("metadata.name={name}"));
                    Ok(request.param("resourceVersion", "0"))
                }
                _ => {
                    let why = "you may only watch a single resource or type of resource at a time";
                    Err(Failure::error(why))
                }
            },
        }
    }

    fn printer(&self, mapping: &Mapping) -> Printer {
        if !self.format.is_table() {
            return Printer::Objects(self.object_printer());
        }
        let with_namespace = self.arguments.selectors.all_namespaces;
        let kind = self.arguments.output.show_kind.then(|| kind_prefix(&mapping.kind));
        let options = RowOptions { with_namespace, kind, ..self.row_options() };
        Printer::Rows(Box::new(RowPrinter::new(options)), TabWriter::default())
    }

    fn print_all(
        &self,
        fetched: Fetched,
        event: Option<&str>,
        printer: &mut Printer,
    ) -> Result<ControlFlow<()>, Failure> {
        if matches!(printer, Printer::Rows(..)) {
            return self.print_one(fetched.body, event, printer);
        }
        for object in fetched.into_objects() {
            if self.print_one(object, event, printer)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn print_one(
        &self,
        object: Value,
        event: Option<&str>,
        printer: &mut Printer,
    ) -> Result<ControlFlow<()>, Failure> {
        let text = match printer {
            Printer::Rows(rows, out) => {
                self.print_body(&object, event, rows, out)?;
                out.flush();
                out.take()
            }
            Printer::Objects(printer) => match event {
                Some(event) => printer.print_event(event, object)?,
                None => printer.print(object)?,
            },
        };
        Ok(print_more(text.as_bytes())?)
    }

    async fn follow(&self, mut events: Events, mut printer: Printer, is_single: bool) -> Result<(), Failure> {
        let mut is_known = is_single; // the first event repeats the object that was printed
        while let Some(Event { kind, object }) = events.next().await? {
            if kind == "ERROR" {
                let status: Status = serde_json::from_value(object)
                    .map_err(|error| Failure::error(format!("invalid error event: {error}")))?;
                return Err(Failure::from(&status));
            }
            if std::mem::take(&mut is_known) {
                continue;
            }
            let event = self.arguments.output_watch_events.then_some(kind.as_str());
            if self.print_one(object, event, &mut printer)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The watch events of a response body, one per line.
struct Events {
    body: Body,
    read: BytesMut,
}

impl Events {
    fn of(body: Body) -> Self {
        Self { body, read: BytesMut::new() }
    }

    /// Returns the next event, or `None` once the server has ended the watch.
    async fn next(&mut self) -> Result<Option<Event>, Failure> {
        let mut searched = 0;
        loop {
            if let Some(at) = self.read[searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.read.split_to(searched + at + 1);
                searched = 0;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let event = serde_json::from_slice(&line);
                return event
                    .map(Some)
                    .map_err(|error| Failure::error(format!("invalid watch event: {error}")));
            }
            searched = self.read.len();
            if searched > LONGEST {
                return Err(Failure::error(format!("watch event exceeds {LONGEST} bytes")));
            }
            match self.body.chunk().await {
                Ok(Some(chunk)) => self.read.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return Ok(None), // kubectl ends without an error too
            }
        }
    }
}
