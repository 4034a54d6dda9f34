//! Handlers: delivery, ordering, and isolation from each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Duration;

use crate::objects::{Build, object};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use watchkeeper_cache::delta::{Delta, Transient};
use watchkeeper_cache::handler::{
    Filter, Handler, RawEvent, RawEvents, Resync, Subscription, SubscriptionOptions,
};
use watchkeeper_cache::{Sink as _, Store};
use watchkeeper_core::Object;

fn subscribe(store: &Store) -> Subscription {
    Subscription::new(store, SubscriptionOptions::default())
}

/// Returns the pending changes.
fn received(subscription: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.next().now_or_never().flatten()).map(|delta| show(&delta)).collect()
}

fn show(delta: &Delta<Arc<Object>>) -> String {
    let at = |object: &Object| format!("{}@{}", object.metadata.key(), object.metadata.resource_version());
    match delta {
        Delta::Added { new, initial: true } => format!("initial {}", at(new)),
        Delta::Added { new, .. } => format!("added {}", at(new)),
        Delta::Updated { old, new } => format!("updated {} to {}", at(old), new.metadata.resource_version()),
        Delta::Deleted { last: Some(last), .. } => format!("deleted {}", at(last)),
        Delta::Deleted { old, .. } => format!("missed {}", at(old)),
        Delta::Resync(object) => format!("resync {}", at(object)),
    }
}

#[tokio::test]
async fn an_early_subscriber_receives_the_list_and_then_every_change() {
    let (store, mut writer) = Store::new();
    let mut subscription = subscribe(&store);
    assert_eq!(received(&mut subscription), [""; 0]);
    assert!(!subscription.is_caught_up());
    writer.begin();
    writer.stage(object("x", "b", 2));
    writer.stage(object("x", "a", 1));
    writer.commit(2.into());
    assert_eq!(show(&subscription.next().await.unwrap()), "initial x/a@1");
    assert!(!subscription.is_caught_up());
    assert_eq!(show(&subscription.next().await.unwrap()), "initial x/b@2");
    assert!(!subscription.is_caught_up(), "the last one is not handled yet");
    assert_eq!(received(&mut subscription), [""; 0]);
    assert!(subscription.is_caught_up());
    writer.put(object("x", "a", 3));
    writer.put(object("x", "c", 4));
    writer.delete(object("x", "b", 5));
    assert_eq!(received(&mut subscription), ["updated x/a@1 to 3", "added x/c@4", "deleted x/b@5"]);
    writer.delete(object("x", "never-seen", 6));
    assert_eq!(received(&mut subscription), [""; 0]);
    drop(writer);
    assert_eq!(subscription.next().await, None);
}

#[tokio::test]
async fn a_subscription_is_not_caught_up_before_an_empty_list_is_stored() {
    let (store, mut writer) = Store::new();
    let mut subscription = subscribe(&store);
    let mut caught_up = subscription.caught_up();
    let waiting = tokio::spawn(async move { subscription.next().await.map(|delta| show(&delta)) });
    tokio::task::yield_now().await;
    assert!(!*caught_up.borrow());
    writer.begin();
    writer.commit(1.into());
    caught_up.wait_for(|caught_up| *caught_up).await.unwrap();
    drop(writer);
    assert_eq!(waiting.await.unwrap(), None);
}

#[tokio::test]
async fn a_late_subscriber_receives_existing_objects_first() {
    let (store, mut writer) = Store::new();
    writer.begin();
    writer.stage(object("x", "a", 1));
    writer.commit(1.into());
    writer.put(object("x", "b", 2));
    let mut late = subscribe(&store);
    writer.put(object("x", "a", 3));
    assert_eq!(received(&mut late), ["initial x/a@3", "initial x/b@2"]);
    assert!(late.is_caught_up());
}

#[tokio::test]
async fn a_relist_reports_deletions_first_and_skips_unchanged_objects() {
    let (store, mut writer) = Store::new();
    writer.begin();
    for (name, uid) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
        writer.stage(Build::new("x", name, 1).uid(uid).object());
    }
    writer.commit(1.into());
    let mut subscription = subscribe(&store);
    received(&mut subscription);
    writer.begin();
    writer.stage(Build::new("x", "a", 1).uid("1").object());
    writer.stage(Build::new("x", "b", 5).uid("2").object());
    writer.stage(Build::new("x", "c", 6).uid("9").object());
    writer.stage(Build::new("x", "e", 7).uid("5").object());
    writer.commit(7.into());
    assert_eq!(
        received(&mut subscription),
        ["missed x/d@1", "missed x/c@1", "added x/c@6", "updated x/b@1 to 5", "added x/e@7"]
    );
}

#[tokio::test]
async fn a_delivered_state_is_already_readable_in_the_store() {
    let (store, mut writer) = Store::new();
    let mut subscription = subscribe(&store);
    let reader = tokio::spawn(async move {
        let mut count = 0;
        while let Some(delta) = subscription.next().await {
            let delivered = delta.newest().metadata.resource_version().as_u64().unwrap();
            let now = store.snapshot();
            let found =
                now.get(delta.newest().metadata.key()).unwrap().metadata.resource_version().as_u64().unwrap();
            assert!(found >= delivered);
            count += 1;
        }
        count
    });
    for version in 1..=2_000 {
        writer.put(object("x", &(version % 50).to_string(), version));
        if version % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(writer);
    assert!(reader.await.unwrap() >= 50);
}

#[tokio::test]
async fn an_update_across_a_filter_is_an_addition_or_a_deletion() {
    let (store, mut writer) = Store::new();
    writer.put(Build::new("x", "a", 1).label("app", "web").object());
    writer.put(Build::new("x", "b", 2).object());
    writer.put(Build::new("y", "c", 3).label("app", "web").object());
    let filter = Filter::namespace("x").and(Filter::labels("app=web".parse().unwrap()));
    let mut subscription =
        Subscription::new(&store, SubscriptionOptions { filter, ..SubscriptionOptions::default() });
    assert_eq!(received(&mut subscription), ["initial x/a@1"]);
    writer.put(Build::new("x", "b", 4).label("app", "web").object());
    writer.put(Build::new("x", "a", 5).label("app", "db").object());
    writer.put(Build::new("y", "c", 6).object());
    writer.put(Build::new("x", "b", 7).label("app", "web").object());
    assert_eq!(received(&mut subscription), ["added x/b@7", "deleted x/a@5"]);
    writer.delete(Build::new("x", "a", 8).label("app", "db").object());
    assert_eq!(received(&mut subscription), [""; 0]);
}

#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_waker_is_called_for_matching_changes_and_take_returns_them() {
    let (store, mut writer) = Store::new();
    let bell = Arc::new(Bell::default());
    let rings = || bell.0.swap(0, Ordering::Relaxed);
    let (filter, waker) = (Filter::namespace("x"), Some(bell.clone().into()));
    let options = SubscriptionOptions { filter, waker, ..SubscriptionOptions::default() };
    let mut subscription = Subscription::new(&store, options);
    let mut take = |most| -> Option<Vec<String>> {
        subscription.take(most).map(|taken| taken.iter().map(show).collect())
    };
    assert_eq!((take(9), rings()), (Some(vec![]), 0));
    writer.begin();
    for name in ["a", "b", "c"] {
        writer.stage(object("x", name, 1));
    }
    writer.commit(1.into());
    assert!(rings() > 0);
    writer.put(object("y", "a", 2));
    assert_eq!(rings(), 0);
    writer.put(object("x", "b", 3));
    assert_eq!(rings(), 1);
    assert_eq!(take(2).unwrap(), ["initial x/a@1", "initial x/b@3"]);
    drop(writer);
    assert_eq!(rings(), 1);
    assert_eq!((take(2).unwrap(), take(2)), (vec!["initial x/c@1".to_owned()], None));
    assert!(subscription.is_caught_up());
}

#[tokio::test(start_paused = true)]
async fn each_subscription_has_its_own_resync_period() {
    let (store, mut writer) = Store::new();
    writer.begin();
    writer.stage(object("x", "a", 1));
    writer.stage(object("x", "b", 1));
    writer.commit(1.into());
    let every = |seconds| {
        let resync = Resync::Every(Duration::from_secs(seconds));
        Subscription::new(&store, SubscriptionOptions { resync, ..SubscriptionOptions::default() })
    };
    let (mut never, mut two, mut three) = (subscribe(&store), every(2), every(3));
    for subscription in [&mut never, &mut two, &mut three] {
        assert_eq!(received(subscription), ["initial x/a@1", "initial x/b@1"]);
    }
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(received(&mut two), ["resync x/a@1", "resync x/b@1"]);
    assert_eq!((received(&mut never), received(&mut three)), (vec![], vec![]));
    tokio::time::advance(Duration::from_secs(1)).await;
    writer.put(object("x", "a", 2));
    assert_eq!(received(&mut three), ["updated x/a@1 to 2", "resync x/b@1"]);
    assert_eq!(
        (received(&mut two), received(&mut never)),
        (vec!["updated x/a@1 to 2".into()], vec!["updated x/a@1 to 2".into()])
    );
}

#[tokio::test]
async fn a_panicking_handler_is_reported_continues_and_does_not_affect_others() {
    let (store, mut writer) = Store::new();
    let (seen, panics) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let subscription = subscribe(&store).on_panic({
        let panics = panics.clone();
        move |panic| panics.lock().push((panic.key.to_string(), panic.message.contains("of all things")))
    });
    let handler = Handler::start(subscription, {
        let seen = seen.clone();
        move |delta| {
            let seen = seen.clone();
            Box::pin(async move {
                assert_ne!(delta.newest().metadata.key().name(), "bad", "of all things");
                seen.lock().push(show(&delta));
            })
        }
    });
    let other = Arc::new(Mutex::new(0));
    let counting = Handler::start(subscribe(&store), {
        let other = other.clone();
        move |_| *other.lock() += 1
    });
    for (name, version) in [("a", 1), ("bad", 2), ("c", 3)] {
        writer.put(object("x", name, version));
    }
    drop(writer);
    handler.finished().await;
    counting.finished().await;
    assert_eq!(*seen.lock(), ["added x/a@1", "added x/c@3"]);
    assert_eq!((panics.lock().as_slice(), *other.lock()), ([("x/bad".to_owned(), true)].as_slice(), 3));
}

#[tokio::test]
async fn a_handler_catches_up_with_the_first_list_and_ends_when_stopped() {
    let (store, mut writer) = Store::new();
    writer.begin();
    writer.stage(object("x", "a", 1));
    writer.commit(1.into());
    let count = Arc::new(Mutex::new(0));
    let mut handler = Handler::start(subscribe(&store), {
        let count = count.clone();
        move |_| {
            let count = count.clone();
            Box::pin(async move { *count.lock() += 1 })
        }
    });
    assert!(handler.caught_up().await);
    assert_eq!(*count.lock(), 1);
    handler.stop().await;
    writer.put(object("x", "a", 2));
    assert_eq!((*count.lock(), Arc::strong_count(&count)), (1, 1), "its task has ended");
}

#[tokio::test]
async fn dropping_a_handler_does_not_unregister_it() {
    let (store, mut writer) = Store::new();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    Handler::start(subscribe(&store), move |delta| sender.send(show(&delta)).unwrap());
    writer.put(object("x", "a", 1));
    assert_eq!(receiver.recv().await.unwrap(), "added x/a@1");
    writer.put(object("x", "a", 2));
    drop(writer);
    assert_eq!(receiver.recv().await.unwrap(), "updated x/a@1 to 2");
    assert_eq!(receiver.recv().await, None, "its task ends with the store");
}

#[tokio::test]
async fn a_transient_object_is_one_deletion_unless_it_is_skipped() {
    let (store, mut writer) = Store::new();
    let mut subscription = subscribe(&store);
    let options = SubscriptionOptions { transient: Transient::Skip, ..SubscriptionOptions::default() };
    let mut copy = Subscription::new(&store, options);
    writer.put(object("x", "a", 1));
    writer.put(object("x", "a", 2));
    writer.delete(object("x", "a", 3));
    assert_eq!(received(&mut subscription), ["deleted x/a@3"]);
    assert_eq!(received(&mut copy), [""; 0]);
    writer.put(object("x", "a", 4));
    assert_eq!(received(&mut subscription), ["added x/a@4"]);
    assert_eq!(received(&mut copy), ["added x/a@4"]);
}

#[tokio::test]
async fn a_stuck_handler_holds_at_most_two_deltas_per_key() {
    let (store, mut writer) = Store::new();
    let stuck = subscribe(&store);
    let mut quick = subscribe(&store);
    let mut delivered = 0;
    for version in 1..=50_000_u64 {
        let name = (version % 100).to_string();
        match version % 1_000 {
            0..500 => {
                writer.put(Build::new("x", &name, version).uid(&(version / 1_000).to_string()).object());
            }
            _ => writer.delete(object("x", &name, version)),
        }
        delivered += usize::from(quick.next().now_or_never().flatten().is_some());
    }
    assert!(stuck.pending() <= 100);
    assert!(delivered > 25_000, "delayed by the stuck handler: {delivered}");
}

#[tokio::test]
async fn raw_events_deliver_every_event_or_the_number_of_dropped_ones() {
    let (store, mut writer) = Store::new();
    let mut events = RawEvents::new(&store, Filter::default(), 3);
    for version in 1..=2 {
        writer.put(object("x", "a", version));
    }
    writer.delete(object("x", "a", 3));
    let mut shown = Vec::new();
    while let Some(Some(item)) = events.next().now_or_never() {
        shown.push(match item {
            RawEvent::Event(delta) => show(&delta),
            RawEvent::Lagged(count) => format!("missed {count}"),
        });
    }
    assert_eq!(shown, ["added x/a@1", "updated x/a@1 to 2", "deleted x/a@3"]);
    for version in 4..=8 {
        writer.put(object("x", "a", version));
    }
    assert_eq!(events.next().await, Some(RawEvent::Lagged(2)));
    let Some(RawEvent::Event(delta)) = events.next().await else { panic!("three are left") };
    assert_eq!((show(&delta), events.pending()), ("updated x/a@5 to 6".to_owned(), 2));
    drop(writer);
    events.next().await;
    events.next().await;
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_resync_period_is_at_least_a_second_and_never_by_default() {
    let (store, mut writer) = Store::new();
    writer.put(object("x", "a", 1));
    let resync = Resync::Every(Duration::from_millis(1));
    let options = SubscriptionOptions { resync, ..SubscriptionOptions::default() };
    let (mut eager, mut never) = (Subscription::new(&store, options), subscribe(&store));
    assert_eq!((received(&mut eager).len(), received(&mut never).len()), (1, 1));
    tokio::time::advance(Duration::from_millis(999)).await;
    assert_eq!(received(&mut eager), [""; 0]);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(received(&mut eager), ["resync x/a@1"]);
    tokio::time::advance(Duration::from_secs(100_000)).await;
    assert_eq!(received(&mut never), [""; 0]);
}

#[tokio::test]
async fn a_removed_subscriber_receives_nothing_and_is_dropped() {
    let (store, mut writer) = Store::new();
    let calls = Arc::new(Mutex::new(0));
    let counting = || {
        let calls = calls.clone();
        move |_| *calls.lock() += 1
    };
    let first = Handler::start(subscribe(&store), counting());
    let second = Handler::start(subscribe(&store), counting());
    let (third, every) = (subscribe(&store), RawEvents::new(&store, Filter::default(), 9));
    assert_eq!(store.handlers().len(), 4);
    drop(third);
    drop(every);
    assert_eq!(store.handlers().len(), 2);
    first.remove(); // does not wait
    second.stop().await;
    while !store.handlers().is_empty() {
        tokio::task::yield_now().await;
    }
    writer.put(object("x", "a", 1));
    let last = Handler::start(subscribe(&store), counting());
    drop(writer);
    last.finished().await;
    assert_eq!((*calls.lock(), Arc::strong_count(&calls)), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_subscribers_receive_everything_once_and_in_order() {
    let (store, mut writer) = Store::new();
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..8)
        .map(|reader| {
            let (store, is_over) = (store.clone(), is_over.clone());
            tokio::spawn(async move {
                loop {
                    // The last subscription of each reader stays.
                    let stays = if is_over.load(Ordering::SeqCst) { usize::MAX } else { 1 + reader * 37 };
                    let mut subscription = subscribe(&store);
                    let mut known = std::collections::BTreeMap::<String, u64>::new();
                    let mut newest_received = std::collections::BTreeMap::<String, u64>::new();
                    for _ in 0..stays {
                        let Some(delta) = subscription.next().await else {
                            let now = store.snapshot();
                            let kept = |object: &Arc<Object>| {
                                (
                                    object.metadata.key().to_string(),
                                    object.metadata.resource_version().as_u64().unwrap(),
                                )
                            };
                            assert_eq!(known, now.iter().map(kept).collect());
                            return;
                        };
                        let (key, newest) = (delta.newest().metadata.key().to_string(), delta.newest());
                        let version = newest.metadata.resource_version().as_u64().unwrap();
                        let received_before = newest_received.insert(key.clone(), version);
                        let before = match &delta {
                            Delta::Deleted { .. } => known.remove(&key),
                            _ => known.insert(key, version),
                        };
                        let delivered = match &delta {
                            Delta::Added { .. } => None,
                            Delta::Deleted { old, .. } if before.is_none() => {
                                // Transient: added and deleted before this reader received it.
                                assert!(
                                    old.metadata.resource_version().as_u64() > received_before,
                                    "{}",
                                    show(&delta)
                                );
                                None
                            }
                            Delta::Updated { old, .. } | Delta::Deleted { old, .. } => {
                                Some(old.metadata.resource_version().as_u64().unwrap())
                            }
                            Delta::Resync(_) => panic!("unexpected resync"),
                        };
                        assert_eq!(before, delivered, "{}", show(&delta));
                    }
                }
            })
        })
        .collect();
    for version in 1..=20_000_u64 {
        let name = (version * 7 % 101).to_string();
        match version % 5 {
            0 => writer.delete(object("x", &name, version)),
            _ => writer.put(object("x", &name, version)),
        }
        if version % 64 == 0 {
            tokio::task::yield_now().await;
        }
    }
    is_over.store(true, Ordering::SeqCst);
    drop(writer);
    for reader in readers {
        reader.await.unwrap();
    }
}
