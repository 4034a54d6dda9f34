//! Subscriptions and resyncs concurrent with a writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;
use watchkeeper_cache_interleavings::delta::{Delta, Transient};
use watchkeeper_cache_interleavings::handler::{
    Filter, RawEvent, RawEvents, Subscription, SubscriptionOptions,
};
use watchkeeper_cache_interleavings::store::Writer;
use watchkeeper_cache_interleavings::{Sink as _, Store};
use watchkeeper_core::{Object, ObjectKey};

use crate::interleave;
use crate::objects::{Follower, object, state};

/// Additions, changes, deletions, a list, and an object in the place of another.
fn write(writer: &mut Writer) {
    writer.put(object("a", "a", 1));
    writer.put(object("b", "b", 2));
    writer.put(object("a", "a", 3));
    writer.delete(object("a", "a", 4));
    writer.begin();
    writer.stage(object("a", "another", 5));
    writer.stage(object("c", "c", 6));
    writer.commit(7.into());
    writer.put(object("c", "c", 8));
}

fn key(delta: &Delta<Arc<Object>>) -> ObjectKey {
    delta.newest().metadata.key().clone()
}

/// Checks that a delivered state, or a newer one, is in the store (`store.S3`).
fn assert_readable(store: &Store, delta: &Delta<Arc<Object>>) {
    let now = store.snapshot();
    let delivered = delta.newest().metadata.resource_version().as_u64();
    match (now.get(&key(delta)), delta) {
        (Some(_), Delta::Deleted { last: None, .. }) => {}
        (Some(found), _) => {
            assert!(found.metadata.resource_version().as_u64() >= delivered, "{delta:?} {found:?}");
        }
        (None, _) => assert!(now.version().as_u64() >= delivered, "{delta:?}"),
    }
}

fn assert_same(follower: &Follower<ObjectKey, Arc<Object>>, store: &Store) {
    let now = store.snapshot();
    let held: BTreeMap<_, _> = now.iter().map(|it| (it.metadata.key().clone(), state(it))).collect();
    let known: BTreeMap<_, _> = follower.known.iter().map(|(key, it)| (key.clone(), state(it))).collect();
    assert_eq!(known, held);
}

#[test]
fn a_subscriber_receives_everything_once_whenever_it_subscribes() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let receiving = thread::spawn(move || {
            let mut subscription = Subscription::new(&store, SubscriptionOptions::default());
            let mut follower = Follower::default();
            while let Some(delta) = block_on(subscription.next()) {
                assert_readable(&store, &delta);
                follower.apply(key(&delta), delta);
            }
            assert_same(&follower, &store);
            assert!(subscription.is_caught_up());
        });
        write(&mut writer);
        drop(writer);
        receiving.join().unwrap();
    });
}

#[test]
fn raw_events_deliver_each_event_once_whenever_subscribed() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let receiving = thread::spawn(move || {
            let mut events = RawEvents::new(&store, Filter::default(), 100);
            let mut follower = Follower::default();
            while let Some(RawEvent::Event(delta)) = block_on(events.next()) {
                assert_readable(&store, &delta);
                follower.apply(key(&delta), delta);
            }
            assert_same(&follower, &store);
        });
        write(&mut writer);
        drop(writer);
        receiving.join().unwrap();
    });
}

#[test]
fn a_transient_object_is_reported_once_or_skipped() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let receiving = [Transient::Report, Transient::Skip].map(|transient| {
            let options = SubscriptionOptions { transient, ..SubscriptionOptions::default() };
            let mut subscription = Subscription::new(&store, options);
            thread::spawn(move || {
                let mut received = Vec::new();
                while let Some(delta) = block_on(subscription.next()) {
                    received.push(matches!(delta, Delta::Deleted { .. }));
                }
                received
            })
        });
        writer.put(object("a", "a", 1));
        writer.delete(object("a", "a", 2));
        drop(writer);
        let [reporting, skipping] = receiving.map(|receiving| receiving.join().unwrap());
        assert!([vec![true], vec![false, true]].contains(&reporting), "{reporting:?}");
        assert!([vec![], vec![false, true]].contains(&skipping), "{skipping:?}");
    });
}

#[test]
fn a_resync_delivers_the_last_received_state() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let receiving = thread::spawn(move || {
            let mut subscription = Subscription::new(&store, SubscriptionOptions::default());
            let mut follower = Follower::default();
            subscription.resync();
            while let Some(delta) = block_on(subscription.next()) {
                if !matches!(delta, Delta::Resync(_)) {
                    subscription.resync();
                }
                follower.apply(key(&delta), delta);
            }
            assert_same(&follower, &store);
        });
        write(&mut writer);
        drop(writer);
        receiving.join().unwrap();
    });
}

#[test]
fn catching_up_with_the_first_list_is_signalled() {
    interleave(|| {
        let (store, mut writer) = Store::new();
        let mut subscription = Subscription::new(&store, SubscriptionOptions::default());
        let mut caught_up = subscription.caught_up();
        let receiving = thread::spawn(move || while block_on(subscription.next()).is_some() {});
        writer.begin();
        writer.stage(object("a", "a", 1));
        writer.commit(2.into());
        block_on(caught_up.wait_for(|caught_up| *caught_up)).unwrap();
        drop(writer);
        receiving.join().unwrap();
    });
}
