//! Namespaces: empties a deleted namespace, then removes its finalizer.
//!
//! Input: namespaces with a deletion timestamp, and [`Departures`] from them.
//! Output: deletions of their content, conditions about what is left, and finally `finalize`.
//!
//! Invariants:
//! - `namespace.N1`: pods are deleted first; nothing else is deleted while there are any.
//! - `namespace.N2`: a resource that cannot be listed or deleted is reported in a condition, and delays
//!   nothing but the namespace itself.
//! - `namespace.N3`: the finalizer is removed only after a pass in which every resource was empty.

mod conditions;
mod content;
mod departures;
mod pass;

use std::time::Duration;

use serde::Deserialize;
use watchkeeper_cache::Reader;
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::rest::Content;
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_workqueue::limit::{Exponential, MaxOf, TokenBucket};

use crate::context::{ControllerContext, Reconcile};
use crate::resource::NAMESPACES;
use crate::view::Meta;
pub(crate) use departures::Departures;
use pass::{Namespaces, Outcome};

/// Number of workers.
const WORKERS: usize = 10;
/// Initial and maximum backoff of a failed pass.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(60));

/// Starts the controller, and returns where to report deletions.
pub(crate) fn start(context: &mut ControllerContext) -> Departures {
    let (departures, departed) = Departures::new();
    let (first, max) = RETRY;
    let controller = Controller::new("namespace", &context.informer(NAMESPACES))
        .with_predicate(|old, new| {
            old.metadata.deletion_timestamp() != new.metadata.deletion_timestamp()
                || old.metadata.uid() != new.metadata.uid()
        })
        .reconcile_on(departed)
        .limiter(MaxOf::new(Exponential::new(first, max)).and(TokenBucket::new(10.0, 100)))
        .concurrency(WORKERS);
    let client = context.client().clone();
    let rest = client.rest(&NAMESPACES.group_version(), Content::json());
    let namespaces =
        Namespaces { api: context.api(NAMESPACES), discovery: DiscoveryClient::new(rest), client };
    let cached = context.reader(NAMESPACES);
    context.run(controller, Emptier { cached, namespaces, departures: departures.clone() });
    departures
}

/// The cached metadata of a namespace.
#[derive(Deserialize)]
struct Cached {
    metadata: Meta,
}

struct Emptier {
    cached: Reader<Cached>,
    namespaces: Namespaces,
    departures: Departures,
}

impl Reconcile for Emptier {
    async fn reconcile(&self, request: Request) -> Result<Action, Error> {
        let name = request.key().name();
        if !self.cached.get(name)?.is_some_and(|namespace| namespace.metadata.is_terminating()) {
            return Ok(Action::await_change());
        }
        self.departures.expect(name); // before listing, so that no deletion is missed
        match self.namespaces.empty(name).await? {
            Outcome::Over => {
                self.departures.forget(name);
                Ok(Action::await_change())
            }
            Outcome::Waiting { estimate } => {
                Ok(Action::requeue(Duration::from_secs(estimate.unsigned_abs() / 2 + 1)))
            }
        }
    }
}
