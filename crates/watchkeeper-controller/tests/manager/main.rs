//! The manager's guarantees: start, health, shutdown.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod board;
mod ending;
mod failing;
mod leading;
mod pages;

use std::future::Ready;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use watchkeeper_cache::InformerFactory;
use watchkeeper_controller::{Action, Controller, Error, Request};
use watchkeeper_core::{Collection, ListWatch};
use watchkeeper_testkit::script::{Script, Watch, object};

/// Creates a factory whose collections hold the object `x/a`, with the first list complete after a delay.
fn factory(after: Duration) -> InformerFactory {
    InformerFactory::new(move |_: &Collection| {
        let watch = Watch::new().added(object("x/a", 1)).wait(after).initial_events_end(2).stalls();
        Box::new(Script::new().then(watch)) as Box<dyn ListWatch>
    })
}

fn controller(name: &str, factory: &InformerFactory) -> Controller {
    Controller::new(name, &factory.informer(&collection(name)))
}

fn collection(name: &str) -> Collection {
    Collection::new("example.com", "v1", name, name)
}

/// A log of what happened, each entry with its second.
#[derive(Clone)]
struct Story {
    begun: Instant,
    entries: Arc<Mutex<Vec<String>>>,
}

impl Story {
    fn new() -> Self {
        Self { begun: Instant::now(), entries: Arc::default() }
    }

    fn record(&self, what: &str) {
        let at = self.begun.elapsed().as_secs();
        self.entries.lock().push(format!("{what}@{at}"));
    }

    fn entries(&self) -> Vec<String> {
        self.entries.lock().clone()
    }

    /// Returns a reconcile function that records its calls.
    fn recording(
        &self,
        name: &'static str,
    ) -> impl Fn(Request, Arc<()>) -> Ready<Result<Action, Error>> + use<> {
        let story = self.clone();
        move |_, _| {
            story.record(name);
            std::future::ready(Ok(Action::await_change()))
        }
    }
}

/// Sleeps for a number of seconds.
async fn after(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
