//! Script: a collection that says what a test has written down, and notes what it was asked.
//!
//! From: a test, which knows what a server would say in the case at hand.
//! To:   whatever takes a [`ListWatch`]: a reflector, an informer.
//!
//! - A1: the nth request gets the nth answer. One that is of another sort than its answer, and one that comes
//!   after the last, never gets any: the script is [played](Script::played).
//! - A2: each request is noted before it is answered.

mod answer;
mod object;
mod request;
mod telling;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use watchkeeper_core::{
    ListError, ListRequest, ListStream, ListWatch, WatchError, WatchFuture, WatchRequest,
};

use answer::Said;
pub use answer::{Answer, List, Watch};
pub use object::object;
pub use request::Request;
use telling::Open;

/// A collection that answers by the script. Clones are of the same script.
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
/// // ... whatever is tested would do this:
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
    answers: VecDeque<Answer>,
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
    /// A script without answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// It is of a server that knows nothing of initial events, and says so before it is asked.
    #[must_use]
    pub fn without_initial_events(mut self) -> Self {
        self.initial_events = false;
        self
    }

    /// The next request gets this: a [`List`] or a [`Watch`].
    #[must_use]
    pub fn then(self, answer: impl Into<Answer>) -> Self {
        self.state.lock().answers.push_back(answer.into());
        self
    }

    /// The next request is a list, and fails.
    #[must_use]
    pub fn list_fails(self, error: impl Into<ListError>) -> Self {
        self.then(List::failed(error))
    }

    /// The next request is a watch, and is not opened.
    #[must_use]
    pub fn watch_fails(self, error: impl Into<WatchError>) -> Self {
        self.then(Answer(Said::Refusal(error.into())))
    }

    /// What was asked so far, in order (A2).
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().requests.clone()
    }

    /// How many requests are going on: lists and watches that were neither read to their end nor dropped.
    pub fn open(&self) -> usize {
        self.open.count()
    }

    /// Returns once there is nothing more to say: a request has come for which there is no answer (A1), or the
    /// last answer is a stall and has come to it. Dropping it half-way loses nothing.
    pub fn played(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut played = self.played.subscribe();
        async move {
            let _ = played.wait_for(|played| *played).await; // an error: nobody is left who could ask
        }
    }

    /// The answer to a request, if it is for requests of this sort.
    fn answer(&self, request: Request) -> Option<Said> {
        let mut state = self.state.lock();
        let fits = state.answers.front().is_some_and(|answer| answer.fits(&request));
        state.requests.push(request);
        let answer = if fits { state.answers.pop_front() } else { None };
        drop(state);
        if answer.is_none() {
            self.played.send_replace(true);
        }
        answer.map(|answer| answer.0)
    }

    /// An answer has come to a stall.
    fn stalls(&self) {
        if self.state.lock().answers.is_empty() {
            self.played.send_replace(true);
        }
    }
}

impl ListWatch for Script {
    fn list(&self, request: ListRequest) -> ListStream {
        match self.answer(Request::List(request)) {
            Some(Said::List(list)) => telling::list(self, list),
            _ => telling::list(self, List::stalled()),
        }
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        match self.answer(Request::Watch(request)) {
            Some(Said::Watch(watch)) => telling::watch(self, watch),
            Some(Said::Refusal(error)) => Box::pin(async move { Err(error) }),
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
