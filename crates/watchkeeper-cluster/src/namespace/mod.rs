//! Namespaces: one that was asked to go is emptied, and then let go.
//!
//! From: namespaces with a deletion timestamp, and [`Departures`] from them.
//! To:   deletions of everything in them, conditions that say what is left, and at last `finalize`.
//!
//! - N1: pods go first; nothing else is deleted while there are any.
//! - N2: what cannot be listed or deleted is said in a condition, and holds nothing else back but the namespace.
//! - N3: a namespace is let go after a pass in which every resource was found to be empty.

mod conditions;
mod content;
mod departures;
mod pass;

use std::time::Duration;

use serde::Deserialize;
use watchkeeper_cache::Reader;
use watchkeeper_client::DiscoveryClient;
use watchkeeper_client::rest::Content;
use watchkeeper_controller::{Action, Controller, Failure, Reconcile, Request};
use watchkeeper_workqueue::limit::{Exponential, Longest, TokenBucket};

use crate::plane::Plane;
use crate::resource::NAMESPACES;
use crate::view::Meta;
pub(crate) use departures::Departures;
use pass::{Namespaces, Outcome};

/// How many namespaces are emptied at once.
const WORKERS: usize = 10;
/// One that could not be emptied is tried again after so long at first, and after so long at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(60));

/// Starts the controller, and returns to whom to say what has gone.
pub(crate) fn start(plane: &mut Plane) -> Departures {
    let (departures, told) = Departures::new();
    let (first, most) = RETRY;
    let controller = Controller::new("namespace", &plane.informer(NAMESPACES))
        .when(|old, new| old.head.deleted() != new.head.deleted() || old.head.uid() != new.head.uid())
        .told(told)
        .limiter(Longest::of(Exponential::new(first, most)).and(TokenBucket::new(10.0, 100)))
        .concurrency(WORKERS);
    let client = plane.client().clone();
    let rest = client.rest(&NAMESPACES.group_version(), Content::json());
    let namespaces = Namespaces { api: plane.api(NAMESPACES), discovery: DiscoveryClient::new(rest), client };
    let cached = plane.reader(NAMESPACES);
    plane.run(controller, Emptier { cached, namespaces, departures: departures.clone() });
    departures
}

/// What the cache has to say of a namespace.
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
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let name = request.key().name();
        if !self.cached.get(name)?.is_some_and(|namespace| namespace.metadata.is_going()) {
            return Ok(Action::Done);
        }
        self.departures.expect(name); // before we look at what is there
        match self.namespaces.empty(name).await? {
            Outcome::Over => {
                self.departures.forget(name);
                Ok(Action::Done)
            }
            Outcome::Waiting { estimate } => {
                Ok(Action::After(Duration::from_secs(estimate.unsigned_abs() / 2 + 1)))
            }
        }
    }
}
