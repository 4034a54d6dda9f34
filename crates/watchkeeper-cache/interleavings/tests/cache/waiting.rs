//! Waiting for a version or for readiness. A missed wakeup is a deadlock, which fails.

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_cache_interleavings::{Sink as _, Store};
use watchkeeper_core::Bookmark;

use crate::interleave;
use crate::objects::object;

#[test]
fn waiting_for_a_version_or_the_first_list_is_woken() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let waiting = [1, 3, 4, 5, 6].map(|version| {
            let store = store.clone();
            thread::spawn(move || {
                block_on(store.wait_for(&version.into()));
                let now = store.snapshot();
                assert!(now.version().as_u64() >= Some(version), "{} before {version}", now.version());
            })
        });
        let first_list = thread::spawn(move || {
            block_on(store.wait_until_ready());
            assert!(store.is_ready() && !store.snapshot().is_empty());
        });
        writer.begin();
        writer.stage(object("a", "a", 1));
        writer.commit(1.into());
        writer.put(object("b", "b", 3));
        writer.put(object("a", "a", 4));
        writer.delete(object("b", "b", 5));
        writer.bookmark(&Bookmark { version: 6.into(), initial_events_end: false });
        for waiting in waiting {
            waiting.join().unwrap();
        }
        first_list.join().unwrap();
    });
}
