//! Weather: what happens to a watch on its way, told on standard error.

use std::error::Error;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::sync::oneshot;
use watchkeeper_cache::reflector::{self, Next, Observer, Relist};
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::{ListRequest, ListStream, ListWatch, Status, WatchError, WatchOpening, WatchRequest};

use crate::failure::Failure;

/// Says what went wrong and what is done about it. What goes wrong before the first list has ended is the end (V4).
pub(crate) struct Weather {
    what: String,
    first: Option<oneshot::Sender<Failure>>,
    /// Whether it was said that something is wrong, and not yet that it is over.
    is_bad: bool,
    is_listing: bool,
}

impl Weather {
    /// Of a resource; also where the failure comes that is the end.
    pub(crate) fn new(what: &str) -> (Self, oneshot::Receiver<Failure>) {
        let (first, failed) = oneshot::channel();
        (Self { what: what.to_owned(), first: Some(first), is_bad: false, is_listing: false }, failed)
    }

    fn say(&mut self, text: &str) {
        self.is_bad = true;
        eprintln!("watchkeeper: {}: {text}", self.what);
    }

    fn clear_up(&mut self, text: &str) {
        if std::mem::take(&mut self.is_bad) {
            eprintln!("watchkeeper: {}: {text}", self.what);
        }
    }
}

impl Observer for Weather {
    fn failed(&mut self, _: &str, failure: &reflector::Failure, next: Next, after: Duration) {
        if next == Next::List {
            return; // initial events are not to be had, and lists are
        }
        let said = said(failure);
        match self.first.take() {
            Some(first) => drop(first.send(said)), // nobody waits for it any more: all ends
            None => self.say(&format!("{said}; trying again in {:.1} s", after.as_secs_f64())),
        }
    }

    fn gone(&mut self, _: &str, status: &Status) {
        self.say(&format!("the server has no such resource any more: {status}"));
    }

    fn stalled(&mut self, _: &str, asked: Duration, _: Option<Duration>) {
        self.say(&format!("the server has not sent all objects after {} s", asked.as_secs()));
    }

    fn relists(&mut self, why: Relist) {
        let why = match why {
            _ if self.first.is_some() => return,
            Relist::Expired => "the server has forgotten what happened since",
            Relist::Gone | Relist::InitialEvents => return,
            _ => "the watch has failed",
        };
        self.say(&format!("{why}: listing again, what has changed is told from the list"));
    }

    fn list_begins(&mut self) {
        self.is_listing = true;
    }

    fn list_ends(&mut self, _: Duration, items: u64) {
        self.first = None;
        self.is_listing = false;
        self.clear_up(&format!("listed again ({items} objects), watching"));
    }

    fn watch_begins(&mut self) {
        if !self.is_listing {
            self.clear_up("watching again");
        }
    }
}

/// A failure in the words of the command.
fn said(failure: &reflector::Failure) -> Failure {
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

/// A source, and what is said when one of its watches breaks off: nothing is lost then.
pub(crate) struct Heard<S> {
    source: S,
    what: String,
}

impl<S> Heard<S> {
    /// Of a resource.
    pub(crate) fn new(source: S, what: &str) -> Self {
        Self { source, what: what.to_owned() }
    }
}

impl<S: ListWatch> ListWatch for Heard<S> {
    fn list(&self, request: ListRequest) -> ListStream {
        self.source.list(request)
    }

    fn watch(&self, request: WatchRequest) -> WatchOpening {
        let (opening, what) = (self.source.watch(request), self.what.clone());
        Box::pin(async move {
            let say = move |error: &WatchError| {
                if let WatchError::Interrupted(_) = error {
                    eprintln!("watchkeeper: {what}: the connection broke off: watching again from there");
                }
            };
            Ok(opening.await?.inspect_err(say).boxed())
        })
    }

    fn sends_initial_events(&self) -> bool {
        self.source.sends_initial_events()
    }

    fn is_ordered(&self) -> bool {
        self.source.is_ordered()
    }
}
