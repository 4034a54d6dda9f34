//! A model server that fails at random: the copy always equals the state at its version, and ends with the newest.

mod server;
mod world;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;
use proptest::prelude::*;
use tokio::sync::watch;
use tokio::time::sleep;
use watchkeeper_cache::{Reflector, Sink};
use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion};

use server::Model;
use world::{State, World};

/// A sink that compares itself with the model.
struct Checked {
    model: Model,
    staged: Option<State>,
    copy: Arc<Mutex<State>>,
    commits: Arc<Mutex<u32>>,
}

impl Checked {
    fn is(&self, version: &ResourceVersion, after: &str) {
        let expected = self.model.0.lock().state(version.as_u64().unwrap());
        assert_eq!(*self.copy.lock(), expected, "the copy after {after} {version:?}");
    }
}

fn entry(object: &Object) -> (String, u64) {
    (object.metadata.key().to_string(), object.metadata.resource_version().as_u64().unwrap())
}

impl Sink for Checked {
    fn begin(&mut self) {
        self.staged = Some(State::new());
    }

    fn stage(&mut self, object: Object) {
        self.staged.as_mut().unwrap().extend([entry(&object)]);
    }

    fn stage_as_it_was(&mut self, key: &ObjectKey) {
        unreachable!("nothing is transformed: {key}");
    }

    fn unstage(&mut self, key: &ObjectKey) {
        self.staged.as_mut().unwrap().remove(&key.to_string());
    }

    fn commit(&mut self, version: ResourceVersion) {
        *self.copy.lock() = self.staged.take().unwrap();
        *self.commits.lock() += 1;
        self.is(&version, "a list at");
    }

    fn put(&mut self, object: Object) {
        assert!(self.staged.is_none(), "K2");
        self.copy.lock().extend([entry(&object)]);
        self.is(object.metadata.resource_version(), "a change to");
    }

    fn delete(&mut self, last: Object) {
        assert!(self.staged.is_none(), "K2");
        self.copy.lock().remove(&last.metadata.key().to_string());
        self.is(last.metadata.resource_version(), "a deletion to");
    }

    fn delete_unseen(&mut self, last: &ObjectMeta) {
        unreachable!("nothing is transformed: {last:?}");
    }

    fn bookmark(&mut self, bookmark: &Bookmark) {
        self.is(&bookmark.version, "a bookmark at");
    }
}

/// Runs a reflector against the model, and returns the number of committed lists.
async fn live_through(
    seed: u64,
    changes: u32,
    initial_events: bool,
    paged: bool,
    page: Option<NonZeroU32>,
) -> u32 {
    let world = World {
        history: (0..5).map(|number| (format!("o{number}"), true)).collect(),
        oldest: 1,
        noisy: true,
        initial_events,
        paged,
        random: Rng::with_seed(seed),
        changed: watch::Sender::new(5),
    };
    let model = Model(Arc::new(Mutex::new(world)));
    let (copy, commits) = (Arc::new(Mutex::new(State::new())), Arc::new(Mutex::new(0)));
    let sink = Checked { model: model.clone(), staged: None, copy: copy.clone(), commits: commits.clone() };
    let mut reflector =
        Reflector::new(model.clone(), sink).seed(seed).max_internal_error_retry(Duration::from_secs(5));
    if let Some(page) = page {
        reflector = reflector.page_size(page);
    }
    let life = async {
        for _ in 0..changes {
            let pause = {
                let mut world = model.0.lock();
                world.change();
                if world.roll(10) == 0 {
                    let oldest = world.oldest;
                    world.oldest = world.between(oldest);
                }
                world.roll(3000)
            };
            sleep(Duration::from_millis(pause)).await;
        }
        model.0.lock().noisy = false;
        // Longer than the longest watch, which may be stalled, plus the longest delay.
        sleep(Duration::from_secs(600 + 2 * 60)).await;
        model.0.lock().change();
        sleep(Duration::from_secs(1)).await;
    };
    reflector.run(life).await;
    let world = model.0.lock();
    assert_eq!(*copy.lock(), world.state(world.newest()), "in the end");
    *commits.lock()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_copy_always_equals_the_state_at_its_version_and_converges(
        seed: u64,
        changes in 1..120_u32,
        initial_events: bool,
        paged: bool,
        page in prop::option::of(1..4_u32),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let page = page.and_then(NonZeroU32::new);
        let commits = runtime.unwrap().block_on(live_through(seed, changes, initial_events, paged, page));
        prop_assert!(commits > 0);
    }
}
