//! Faults: what goes wrong in a real cluster, when a test says so.
//!
//! From: a test, through [`Faults`] or the endpoint of [`document`].
//! To:   the [`api`](crate::api), which asks before it answers, and the bodies of watches.
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
//! // The next watch of pods breaks off within its third event.
//! let cut = faults.add(Fault::on(Verb::Watch).resource("pods").cut().after_events(2).times(1));
//! // Every second list is told to come back in 3 s, until this rule is removed.
//! let busy = Status::too_many_requests("busy", Duration::from_secs(3));
//! let busy = faults.add(Fault::on(Verb::List).answer(busy).every(2));
//! // Updates of this object are in conflict, five times.
//! faults.add(Fault::on(Verb::Update).resource("deployments").name("web").answer(409).times(5));
//!
//! // ... and of what is going on already:
//! faults.cut_watches(&Requests::any()); // every watch that is open breaks off
//! server.compact().await?; // every version that anybody has seen is too old
//!
//! assert_eq!(cut.hits(), 0); // nobody has watched pods yet
//! busy.remove();
//! faults.clear();
//! # Ok(())
//! # }
//! ```
//!
//! Rules are looked at in the order in which they were added. The first that applies acts; a delay acts
//! and lets the next ones act, too. Requests of this process
//! ([`ApiServer::source`](crate::server::ApiServer::source)) are nobody's: faults are of the wire.
//!
//! - X1: where there is no rule, a request costs one relaxed load more. A watch has its place in a list, an
//!   atomic load a poll, and its waker where it waits: it can be told to end at any time.
//! - X2: a rule is taken by at most as many requests as it has [`times`](Fault::times), whoever races.
//! - X3: a rule of a watch is taken when the watch opens, and hits when the watch ends by it. A rule that
//!   is removed in between still ends it.

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
pub use requests::Requests;
pub(crate) use requests::Seen;
use rules::Rules;
pub(crate) use rules::{Planned, Struck, Then};
pub(crate) use stream::{Governed, half_of};
use watches::Watches;

/// The faults of a server: rules for requests to come, and orders to the watches that are open. Clones
/// are of the same server.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Arc<Rules>,
    watches: Arc<Watches>,
}

impl Faults {
    /// From now on this happens to requests. What is returned can be dropped: the rule stays.
    pub fn add(&self, fault: Fault) -> FaultHandle {
        let (id, hits) = self.rules.add(fault);
        FaultHandle { id, hits, rules: self.rules.clone() }
    }

    /// Takes away a rule; false where there is none of this number.
    pub fn remove(&self, id: u64) -> bool {
        self.rules.remove(id)
    }

    /// Takes away all rules. Watches that are stalled stay so.
    pub fn clear(&self) {
        self.rules.clear();
    }

    /// The rules that there are, with their numbers and how often each has hit; those that are spent,
    /// too.
    pub fn list(&self) -> Vec<(u64, Fault, u64)> {
        self.rules.list()
    }

    /// Breaks off the watches that are open, within an event. Returns how many.
    pub fn cut_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Abrupt)
    }

    /// Lets nothing more come from the watches that are open, nor an end: only a cut, or the end of the
    /// server, ends them. Returns how many.
    pub fn stall_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Stall)
    }

    /// Ends the watches that are open, as if their time were up. Returns how many.
    pub fn end_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::Clean)
    }

    /// Ends the watches that are open with an ERROR event that says 410. Returns how many.
    pub fn expire_watches(&self, which: &Requests) -> usize {
        self.order(which, &Ending::expired())
    }

    /// Ends the watches that are open in any way. Returns how many.
    pub(crate) fn order(&self, which: &Requests, ending: &Ending) -> usize {
        self.watches.order(which, ending)
    }

    /// How many watches are open.
    pub fn open_watches(&self, which: &Requests) -> usize {
        self.watches.count(which)
    }

    /// Returns once at least so many watches are open. Dropping it half-way loses nothing.
    pub async fn watches_opened(&self, which: &Requests, count: usize) {
        self.watches.opened(which, count).await;
    }

    /// What is to happen to a request (X1).
    pub(crate) fn strike(&self, seen: impl FnOnce() -> Seen) -> Option<Struck> {
        self.rules.strike(seen)
    }

    pub(crate) fn watches(&self) -> &Arc<Watches> {
        &self.watches
    }
}

/// A rule that was added.
#[derive(Clone, Debug)]
pub struct FaultHandle {
    id: u64,
    hits: watch::Receiver<u64>,
    rules: Arc<Rules>,
}

impl FaultHandle {
    /// Its number, by which the endpoint knows it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How often it has happened.
    pub fn hits(&self) -> u64 {
        *self.hits.borrow()
    }

    /// Returns once it has happened at least so often, or the rule is gone and cannot. Dropping it
    /// half-way loses nothing.
    pub async fn happened(&self, times: u64) {
        let _ = self.hits.clone().wait_for(|hits| *hits >= times).await; // an error: the rule is gone
    }

    /// Takes the rule away. It can still be asked how often it has happened.
    pub fn remove(&self) {
        self.rules.remove(self.id);
    }
}

/// What a watch is told whose version is too old.
fn too_old() -> Status {
    Status::expired("The resourceVersion for the provided watch is too old.")
}
