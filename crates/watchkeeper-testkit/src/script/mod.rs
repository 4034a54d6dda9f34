//! Script: a list/watch source with scripted responses that records requests.
//!
//! Input: a test, which knows what a server would return.
//! Output: whatever takes a [`ListWatch`]: a reflector, an informer.
//!
//! Invariants:
//! - `script.A1`: the nth request receives the nth response. A request of another kind than its response, and one
//!   after the last, never receives any: the script is [played](Script::played).
//! - `script.A2`: a request is recorded before it receives its response.

mod object;
mod playback;
mod request;
mod response;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use watchkeeper_core::{
    ListError, ListRequest, ListStream, ListWatch, WatchError, WatchFuture, WatchRequest,
};

pub use object::object;
use playback::Open;
pub use request::Request;
use response::Kind;
pub use response::{List, Response, Watch};

/// A scripted list/watch source. Clones are handles to the same script.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use futures_util::StreamExt as _;
/// use watchkeeper_core::{ListAt, ListRequest, ListWatch as _, Status, WatchFrom, WatchRequest};
/// use watchkeeper_testkit::script::{List, Script, Watch, object};
///
/// let script = Script::new()
///     .then(List::at(10).item(object("default/a", 7)))
///     .then(Watch::new().modified(object("default/a", 11)).bookmark(12).fails(Status::expired("too old")))
///     .list_fails(Status::forbidden(None, "", "no more"));
///
/// // ... the code under test would do this:
/// assert_eq!(script.list(ListRequest::default()).count().await, 2); // the item, and the end
/// let watch = script.watch(WatchRequest::new(WatchFrom::After(10.into()))).await.unwrap();
/// assert_eq!(watch.count().await, 3); // two events, and the error
/// let refused = script.list(ListRequest { at: ListAt::Any, limit: None });
/// assert!(refused.collect::<Vec<_>>().await[0].is_err());
///
/// let asked = ["list", "watch ?watch=true&resourceVersion=10&allowWatchBookmarks=true", "list ?resourceVersion=0"];
/// assert_eq!(script.requests().iter().map(ToString::to_string).collect::<Vec<_>>(), asked);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    state: Arc<Mutex<State>>,
    open: Arc<Open>,
    played: watch::Sender<bool>,
    initial_events: bool,
}

#[derive(Debug, Default)]
struct State {
    responses: VecDeque<Response>,
    requests: Vec<Request>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            state: Arc::default(),
            open: Arc::default(),
            played: watch::Sender::new(false),
            initial_events: true,
        }
    }
}

impl Script {
    /// Creates an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports that the server does not support initial events.
    #[must_use]
    pub fn without_initial_events(mut self) -> Self {
        self.initial_events = false;
        self
    }

    /// Adds the response to the next request: a [`List`] or a [`Watch`].
    #[must_use]
    pub fn then(self, response: impl Into<Response>) -> Self {
        self.state.lock().responses.push_back(response.into());
        self
    }

    /// Makes the next request, a list, fail.
    #[must_use]
    pub fn list_fails(self, error: impl Into<ListError>) -> Self {
        self.then(List::failed(error))
    }

    /// Makes the next request, a watch, fail to open.
    #[must_use]
    pub fn watch_fails(self, error: impl Into<WatchError>) -> Self {
        self.then(Response(Kind::WatchError(error.into())))
    }

    /// Returns the requests so far, in order (`script.A2`).
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// Returns the number of lists and watches that were neither read to their end nor dropped.
    pub fn open(&self) -> usize {
        self.open.count()
    }

    /// Waits until the script is over: a request has no response (`script.A1`), or the last response has reached its
    /// stall.
    pub fn played(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut played = self.played.subscribe();
        async move {
            let _ = played.wait_for(|played| *played).await; // an error means that the script was dropped
        }
    }

    /// Records a request, and takes its response if that is of the same kind.
    fn respond(&self, request: Request) -> Option<Kind> {
        let mut state = self.state.lock();
        let is_match = state.responses.front().is_some_and(|response| response.matches(&request));
        state.requests.push(request);
        let response = if is_match { state.responses.pop_front() } else { None };
        drop(state);
        if response.is_none() {
            self.played.send_replace(true);
        }
        response.map(|response| response.0)
    }

    /// Called when a response has reached its stall.
    fn stalls(&self) {
        if self.state.lock().responses.is_empty() {
            self.played.send_replace(true);
        }
    }
}

impl ListWatch for Script {
    fn list(&self, request: ListRequest) -> ListStream {
        match self.respond(Request::List(request)) {
            Some(Kind::List(list)) => playback::list(self, list),
            _ => playback::list(self, List::stalled()),
        }
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        match self.respond(Request::Watch(request)) {
            Some(Kind::Watch(watch)) => playback::watch(self, watch),
            Some(Kind::WatchError(error)) => Box::pin(async move { Err(error) }),
            _ => {
                let counted = self.open.one();
                Box::pin(async move {
                    let _counted = counted;
                    std::future::pending().await
                })
            }
        }
    }

    fn sends_initial_events(&self) -> bool {
        self.initial_events
    }
}
