//! The controller's guarantees, tested with scripted sources on a paused clock.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod calls;
mod ending;
mod failures;
mod mapping;
mod triggers;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use watchkeeper_cache::Informer;
use watchkeeper_controller::{Action, Error, Request};
use watchkeeper_core::{Encoded, Object, ObjectMetaBuilder, OwnerReference};
use watchkeeper_testkit::script::{List, Script, Watch};
use watchkeeper_wire::Kind;

const SECOND: Duration = Duration::from_secs(1);

/// Starts an informer of shops with a scripted list and watch.
fn shops(list: List, watch: Watch) -> Informer {
    informer("Shop", list, watch)
}

/// Starts an informer with a scripted list and watch.
fn informer(kind: &str, list: List, watch: Watch) -> Informer {
    let script = Script::new().without_initial_events().then(list).then(watch.stalls());
    let informer = Informer::new(Kind::new("example.com", "v1", kind), script);
    informer.start();
    informer
}

/// Returns a shop with this resource version and generation.
fn shop(name: &str, version: u64, generation: i64) -> Object {
    let mut head = ObjectMetaBuilder::default();
    head.namespace("x").name(name).uid(name).version(&version.to_string()).generation(generation);
    Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
}

/// Returns an object with an owner.
fn part(name: &str, version: u64, owner: &OwnerReference<'_>) -> Object {
    let mut head = ObjectMetaBuilder::default();
    head.namespace("x").name(name).uid(name).version(&version.to_string()).owner(owner);
    Object { metadata: head.finish(), encoded: Encoded::json(*b"{}") }
}

/// The keys reconciled, each with the second of its call.
#[derive(Clone)]
struct Calls {
    begun: Instant,
    all: Arc<Mutex<Vec<String>>>,
}

impl Calls {
    fn new() -> Self {
        Self { begun: Instant::now(), all: Arc::default() }
    }

    fn note(&self, request: &Request) {
        let at = self.begun.elapsed().as_secs();
        self.all.lock().push(format!("{}@{at}", request.key().name()));
    }

    fn all(&self) -> Vec<String> {
        self.all.lock().clone()
    }

    /// Returns a reconcile function that notes its calls and succeeds.
    fn noting(&self) -> impl Fn(Request, Arc<()>) -> std::future::Ready<Result<Action, Error>> + use<> {
        let calls = self.clone();
        move |request, _| {
            calls.note(&request);
            std::future::ready(Ok(Action::await_change()))
        }
    }
}

/// Sleeps for a number of seconds.
async fn after(seconds: u64) {
    tokio::time::sleep(SECOND * u32::try_from(seconds).unwrap()).await;
}
