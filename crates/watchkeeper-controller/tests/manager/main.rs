//! What a manager promises: how it begins, how it is, how it ends.
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
use watchkeeper_controller::{Action, Controller, Failure, Request};
use watchkeeper_core::{Collection, ListWatch};
use watchkeeper_testkit::script::{Script, Watch, object};

/// A factory, in which each collection has the object `x/a` as soon as a script says so.
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

/// What has happened, and in which second.
#[derive(Clone)]
struct Story {
    begun: Instant,
    told: Arc<Mutex<Vec<String>>>,
}

impl Story {
    fn new() -> Self {
        Self { begun: Instant::now(), told: Arc::default() }
    }

    fn tell(&self, what: &str) {
        let at = self.begun.elapsed().as_secs();
        self.told.lock().push(format!("{what}@{at}"));
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().clone()
    }

    /// A function that tells that it was called.
    fn telling(&self, name: &'static str) -> impl Fn(Request) -> Ready<Result<Action, Failure>> + use<> {
        let story = self.clone();
        move |_| {
            story.tell(name);
            std::future::ready(Ok(Action::Done))
        }
    }
}

/// After so many seconds.
async fn after(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
