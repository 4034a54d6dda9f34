//! Watch status: reports problems of a watch on standard error.

use std::error::Error;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::sync::oneshot;
use watchkeeper_cache::reflector::{self, Next, Observer, Relist};
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::{ListRequest, ListStream, ListWatch, Status, WatchError, WatchFuture, WatchRequest};

use crate::failure::Failure;

/// A reporter of failures and recoveries. A failure before the end of the first list ends the command (`cli_watch.W4`).
pub(crate) struct WatchStatusReporter {
    what: String,
    first: Option<oneshot::Sender<Failure>>,
    /// Whether a problem has been reported and its end has not.
    has_problem: bool,
    is_listing: bool,
}

impl WatchStatusReporter {
    /// Creates a reporter for a resource; a failure of the first list is sent to the receiver.
    pub(crate) fn new(what: &str) -> (Self, oneshot::Receiver<Failure>) {
        let (first, failed) = oneshot::channel();
        (Self { what: what.to_owned(), first: Some(first), has_problem: false, is_listing: false }, failed)
    }

    fn report(&mut self, text: &str) {
        self.has_problem = true;
        eprintln!("watchkeeper: {}: {text}", self.what);
    }

    fn report_recovery(&mut self, text: &str) {
        if std::mem::take(&mut self.has_problem) {
            eprintln!("watchkeeper: {}: {text}", self.what);
        }
    }
}

impl Observer for WatchStatusReporter {
    fn failed(&mut self, _: &str, failure: &reflector::Failure, next: Next, after: Duration) {
        if next == Next::List {
            return; // the server does not send initial events; the reflector lists instead
        }
        let failure = command_failure(failure);
        match self.first.take() {
            Some(first) => drop(first.send(failure)), // an error means that the command is ending
            None => self.report(&format!("{failure}; retrying in {:.1} s", after.as_secs_f64())),
        }
    }

    fn gone(&mut self, _: &str, status: &Status) {
        self.report(&format!("the server no longer has this resource: {status}"));
    }

    fn stalled(&mut self, _: &str, asked: Duration, _: Option<Duration>) {
        self.report(&format!("the server has not sent all initial objects after {} s", asked.as_secs()));
    }

    fn relists(&mut self, why: Relist) {
        let why = match why {
            _ if self.first.is_some() => return,
            Relist::Expired => "the resource version has expired",
            Relist::Gone | Relist::InitialEvents => return,
            _ => "the watch failed",
        };
        self.report(&format!("{why}; listing again and printing the differences"));
    }

    fn list_begins(&mut self) {
        self.is_listing = true;
    }

    fn list_ends(&mut self, _: Duration, items: u64) {
        self.first = None;
        self.is_listing = false;
        self.report_recovery(&format!("list complete ({items} objects); watching"));
    }

    fn watch_begins(&mut self) {
        if !self.is_listing {
            self.report_recovery("watching again");
        }
    }
}

/// Converts a reflector failure to kubectl's wording.
fn command_failure(failure: &reflector::Failure) -> Failure {
    if let Some(status) = failure.status() {
        return Failure::from(status);
    }
    let mut causes =
        std::iter::successors(failure.source(), |error: &&(dyn Error + 'static)| (*error).source());
    match causes.find_map(|error| error.downcast_ref::<RequestError>()) {
        Some(request) => Failure::from(request),
        None => Failure::of(failure),
    }
}

/// A source that reports interrupted watches. No event is lost by an interruption.
pub(crate) struct ReportInterruptions<S> {
    source: S,
    what: String,
}

impl<S> ReportInterruptions<S> {
    /// Wraps a source of a resource.
    pub(crate) fn new(source: S, what: &str) -> Self {
        Self { source, what: what.to_owned() }
    }
}

impl<S: ListWatch> ListWatch for ReportInterruptions<S> {
    fn list(&self, request: ListRequest) -> ListStream {
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        let (opening, what) = (self.source.watch(request), self.what.clone());
        Box::pin(async move {
            let report = move |error: &WatchError| {
                if let WatchError::Interrupted(_) = error {
                    eprintln!("watchkeeper: {what}: connection lost; resuming the watch");
                }
            };
            Ok(opening.await?.inspect_err(report).boxed())
        })
    }

    fn sends_initial_events(&self) -> bool {
        self.source.sends_initial_events()
    }

    fn is_ordered(&self) -> bool {
        self.source.is_ordered()
    }
}
