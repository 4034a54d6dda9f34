//! Fault injection: failures of real clusters, on request.
//!
//! Input: a test, through [`Faults`] or the endpoint described in [`document`].
//! Output: the [`api`](crate::api), which checks for faults before it serves a request, and the bodies of watches.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use watchkeeper_apiserver::faults::{Fault, Requests};
//! use watchkeeper_apiserver::http::Verb;
//! use watchkeeper_apiserver::server::ApiServer;
//! use watchkeeper_core::Status;
//!
//! let server = ApiServer::builder().start().await?;
//! let faults = server.faults();
//!
//! // The next watch of pods breaks off inside its third event.
//! let cut = faults.add(Fault::on(Verb::Watch).resource("pods").cut().after_events(2).times(1));
//! // Every second list gets a 429 with a retry after 3 s, until the rule is removed.
//! let busy = Status::too_many_requests("busy", Duration::from_secs(3));
//! let busy = faults.add(Fault::on(Verb::List).answer(busy).every(2));
//! // The next five updates of this object conflict.
//! faults.add(Fault::on(Verb::Update).resource("deployments").name("web").answer(409).times(5));
//!
//! // These act on open watches and on the history:
//! faults.cut_watches(&Requests::any()); // all open watches break off
//! server.compact().await?; // all versions seen so far are too old
//!
//! assert_eq!(cut.hits(), 0); // no watch of pods yet
//! busy.remove();
//! faults.clear();
//! # Ok(())
//! # }
//! ```
//!
//! Rules are checked in the order in which they were added. The first that matches takes effect; a delay takes effect
//! and lets later rules match too. Requests inside the process
//! ([`ApiServer::source`](crate::server::ApiServer::source)) are not affected.
//!
//! Invariants:
//! - `faults.X1`: without rules, a request costs one relaxed load more. A watch is registered in a list, and costs an
//!   atomic load per poll and a waker while it waits, so that it can be ended at any time.
//! - `faults.X2`: a rule affects at most [`times`](Fault::times) requests, even if they race.
//! - `faults.X3`: a watch takes a rule when it opens, and counts as a hit when it ends by it. A rule removed in
//!   between still ends the watch.

mod answer;
mod compact;
pub mod document;
mod fault;
mod requests;
mod rules;
mod stream;
mod watches;

use std::sync::Arc;

use tokio::sync::watch;
use watchkeeper_core::Status;

pub use answer::Answer;
pub use compact::CompactError;
pub(crate) use compact::compact;
pub use fault::{Effect, Ending, Fault};
pub(crate) use requests::RequestInfo;
pub use requests::Requests;
use rules::Rules;
pub(crate) use rules::{InjectedFault, PlannedEnding, Then};
pub(crate) use stream::{FaultyStream, half_of};
use watches::Watches;

/// The fault injector of a server: rules for future requests, and orders to open watches. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Rules>,
    watches: Arc<Watches>,
}

impl Faults {
    /// Adds a rule. The handle can be dropped: the rule stays.
    pub fn add(&self, fault: Fault) -> FaultHandle {
        let (id, hits) = self.rules.add(fault);
        FaultHandle { id, hits, rules: self.rules.clone() }
    }

    /// Removes a rule; returns false if no rule has this ID.
    pub fn remove(&self, id: u64) -> bool {
        self.rules.remove(id)
    }

    /// Removes all rules. Stalled watches stay stalled.
    pub fn clear(&self) {
        self.rules.clear();
    }

    /// Returns the rules with their IDs and hit counts, including exhausted ones.
    pub fn list(&self) -> Vec<(u64, Fault, u64)> {
        self.rules.list()
    }

    /// Breaks off open watches inside an event. Returns their number.
    pub fn cut_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Abrupt)
    }

    /// Stalls open watches: they send nothing more and do not end, except by a cut or when the server stops. Returns
    /// their number.
    pub fn stall_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Stall)
    }

    /// Ends open watches as if they had timed out. Returns their number.
    pub fn end_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Clean)
    }

    /// Ends open watches with an ERROR event of code 410. Returns their number.
    pub fn expire_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::expired())
    }

    /// Ends open watches. Returns their number.
    pub(crate) fn order(&self, which: &Requests, ending: &Ending) -> usize {
        self.watches.order(which, ending)
    }

    /// Returns the number of open watches.
    pub fn open_watches(&self, which: &Requests) -> usize {
        self.watches.count(which)
    }

    /// Waits until at least this many watches are open. Cancel-safe.
    pub async fn wait_for_watches(&self, which: &Requests, count: usize) {
        self.watches.opened(which, count).await;
    }

    /// Returns the fault for a request, if any rule matches (`faults.X1`).
    pub(crate) fn match_request(&self, info: impl FnOnce() -> RequestInfo) -> Option<InjectedFault> {
        self.rules.match_request(info)
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }
}

/// A handle to a rule.
#[derive(Clone, Debug)]
pub struct FaultHandle {
    id: u64,
    hits: watch::Receiver<u64>,
    rules: Arc<Rules>,
}

impl FaultHandle {
    /// Returns the ID of the rule.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the number of requests affected.
    pub fn hits(&self) -> u64 {
        *self.hits.borrow()
    }

    /// Waits until at least this many requests were affected, or the rule has been removed. Cancel-safe.
    pub async fn happened(&self, times: u64) {
        let _ = self.hits.clone().wait_for(|hits| *hits >= times).await; // an error means that the rule was removed
    }

    /// Removes the rule. Its hit count stays available.
    pub fn remove(&self) {
        self.rules.remove(self.id);
    }
}

/// Returns the status of a watch whose version is too old.
fn too_old() -> Status {
    Status::expired("The resourceVersion for the provided watch is too old.")
}
