//! Bounds, and what happens to readers and watchers that fall behind.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::*;
use crate::{ChangeType, HistoryLimits, RangeQuery, ReadError};
use bytes::Bytes;
use watchkeeper_core::Encoding;

fn at(revision: u64) -> RangeQuery {
    RangeQuery { at: Some(Revision::new(revision)), ..RangeQuery::all(pods()) }
}

fn a_history_never_holds_more_events_than_it_may<S: Subject>() {
    let store = S::new(HistoryLimits { events: 5, ..HistoryLimits::default() });
    for number in 0..50 {
        put(&store, &format!("n/{}", number % 7));
        assert!(store.memory().history_len(&pods()) <= 5, "memory.M3");
    }
    assert_eq!(store.memory().history_len(&pods()), 5);
}

fn a_history_never_holds_more_bytes_than_it_may_but_always_the_newest_event<S: Subject>() {
    let store = S::new(HistoryLimits { bytes: 20_000, ..HistoryLimits::default() });
    let text = "x".repeat(4_000);
    for _ in 0..20 {
        now(store.put(&pods(), value("n/a", &text), Precondition::Any)).unwrap();
    }
    assert_eq!(store.memory().history_len(&pods()), 4, "memory.M3");
    now(store.put(&pods(), value("n/a", &"x".repeat(100_000)), Precondition::Any)).unwrap();
    put(&store, "n/a");
    assert_eq!(store.memory().history_len(&pods()), 1);
}

async fn a_history_drops_a_few_expired_events_per_write_and_all_when_trimmed<S: Subject>() {
    let store = S::new(HistoryLimits { age: Duration::from_secs(60), ..HistoryLimits::default() });
    for _ in 0..100 {
        put(&store, "n/a");
    }
    tokio::time::advance(Duration::from_secs(61)).await;
    put(&store, "n/a");
    assert_eq!(store.memory().history_len(&pods()), 100 + 1 - 16);
    store.memory().trim();
    assert_eq!(store.memory().history_len(&pods()), 1);
    assert_eq!(now(store.range(at(102))).unwrap().items.len(), 1);
    assert_eq!(now(store.range(at(101))).unwrap().items[0].modified(), Revision::new(101));
    assert!(
        matches!(now(store.range(at(100))), Err(ReadError::Compacted { oldest, .. }) if oldest.get() == 101)
    );
}

async fn trimming_drops_encodings_before_events<S: Subject>() {
    let store = S::new(HistoryLimits::default());
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    put(&store, "n/a");
    let encode = |event: &Event, text: &'static str| {
        let bytes = event.encoded(ChangeType::Added, Encoding::Json, |_| Ok::<_, ()>(Bytes::from(text)));
        bytes.unwrap().unwrap()
    };
    let held = now(watch.next()).unwrap().unwrap();
    assert_eq!(encode(&held[0], "first"), "first");
    let again = |after| now(super::watch(&store, after).unwrap().next()).unwrap().unwrap();
    store.memory().trim();
    assert_eq!(encode(&again(Revision::FIRST)[0], "second"), "first", "still hot");
    tokio::time::advance(Duration::from_secs(11)).await;
    store.memory().trim();
    assert_eq!(encode(&again(Revision::FIRST)[0], "second"), "second");
    assert_eq!(encode(&held[0], "second"), "first", "a held event keeps its encodings");
}

fn compaction_fails_older_reads_and_watches_in_all_collections<S: Subject>() {
    let store = S::new(HistoryLimits::default());
    for _ in 0..5 {
        put(&store, "n/a");
    }
    now(store.compact(Revision::new(4))).unwrap();
    assert_eq!(store.memory().history_len(&pods()), 2);
    assert_eq!(now(store.range(at(4))).unwrap().items[0].modified(), Revision::new(4));
    let error = now(store.range(at(3))).unwrap_err();
    assert_eq!(error.to_string(), "revision 3 has been compacted, the oldest available is 4");
    let error = watch(&store, Revision::new(3)).err().unwrap();
    assert_eq!(error.to_string(), "revision 3 has been compacted, the oldest available is 4");
    assert!(watch(&store, Revision::new(4)).is_ok());

    let nodes = RangeQuery { collection: "nodes".into(), ..at(3) };
    assert!(
        matches!(now(store.range(nodes)), Err(ReadError::Compacted { .. })),
        "a collection never seen before"
    );
    now(store.compact(Revision::new(2))).unwrap();
    assert!(matches!(now(store.range(at(3))), Err(ReadError::Compacted { .. })), "compaction is permanent");
}

fn a_watcher_that_falls_behind_ends_without_affecting_others<S: Subject>() {
    let store = S::new(HistoryLimits { events: 4, ..HistoryLimits::default() });
    let mut slow = watch(&store, Revision::FIRST).unwrap();
    let mut quick = watch(&store, Revision::FIRST).unwrap();
    let mut seen = Vec::new();
    for _ in 0..6 {
        put(&store, "n/a");
        seen.extend(drain(&mut quick));
    }
    assert_eq!(drain(&mut slow), ["revision 1 has been compacted, the oldest available is 3", "end"]);
    assert_eq!(seen.len(), 6);
    assert_eq!(slow.progress(), Revision::FIRST);
}

async fn a_watcher_that_sleeps_while_others_write_is_not_behind<S: Subject>() {
    let store = S::new(HistoryLimits { events: 1, ..HistoryLimits::default() });
    let query = WatchQuery { collection: pods(), namespace: Some("quiet".into()), after: Revision::FIRST };
    let mut watch = now(store.watch(query)).unwrap();
    for _ in 0..10 {
        now(store.put(&"nodes".into(), value("n", ""), Precondition::Any)).unwrap();
    }
    put(&store, "quiet/a");
    assert_eq!(drain(&mut watch), ["created quiet/a@12"]);
}

fn states_for_paging_are_few_and_never_older_than_the_history<S: Subject>() {
    let store = S::new(HistoryLimits { events: 40, ..HistoryLimits::default() });
    put(&store, "n/a");
    put(&store, "n/b");
    let page = RangeQuery { limit: NonZeroUsize::new(1), ..RangeQuery::all(pods()) };
    for _ in 0..30 {
        now(store.range(page.clone())).unwrap();
        put(&store, "n/a");
        assert!(store.memory().remembered(&pods()) <= 16);
    }
    assert_eq!(store.memory().remembered(&pods()), 16);
    for _ in 0..39 {
        put(&store, "n/b");
    }
    assert_eq!(store.memory().remembered(&pods()), 1, "only the newest is within the last 40 events");
    put(&store, "n/b");
    put(&store, "n/b");
    assert_eq!(store.memory().remembered(&pods()), 0);
}

fn only_the_newest_1024_events_keep_their_encodings<S: Subject>() {
    let store = S::new(HistoryLimits::default());
    put(&store, "n/a");
    let first = || now(watch(&store, Revision::FIRST).unwrap().next()).unwrap().unwrap().swap_remove(0);
    let encode = |text: &'static str| {
        let bytes = first().encoded(ChangeType::Added, Encoding::Json, |_| Ok::<_, ()>(Bytes::from(text)));
        bytes.unwrap().unwrap()
    };
    encode("first");
    for _ in 0..1023 {
        put(&store, "n/b");
    }
    assert_eq!(encode("second"), "first");
    put(&store, "n/b");
    assert_eq!(encode("third"), "third", "event.V2");
}

fn many_batches_are_complete_and_in_order<S: Subject>() {
    let store = S::new(HistoryLimits::default());
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    for number in 0..3000 {
        put(&store, &format!("n/{}", number % 500));
    }
    let mut batches = Vec::new();
    while let Some(batch) = watch.next().now_or_never() {
        batches.push(batch.unwrap().unwrap());
    }
    assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1024, 1024, 952]);
    assert!(batches.iter().flatten().map(|event| event.revision().get()).eq(2..3002));
    for revision in [1, 2, 301, 501, 1400] {
        let items = now(store.range(at(revision))).unwrap().items;
        assert_eq!(items.len() as u64, (revision - 1).min(500));
        assert_eq!(items.iter().map(|item| item.modified().get()).max().unwrap_or(1), revision);
    }
}

of_each_store!(
    a_history_never_holds_more_events_than_it_may,
    a_history_never_holds_more_bytes_than_it_may_but_always_the_newest_event,
    compaction_fails_older_reads_and_watches_in_all_collections,
    a_watcher_that_falls_behind_ends_without_affecting_others,
    states_for_paging_are_few_and_never_older_than_the_history,
    only_the_newest_1024_events_keep_their_encodings,
    many_batches_are_complete_and_in_order,
);

mod waiting {
    use super::*;
    of_each_store!(
        #[tokio::test(start_paused = true)] async a_history_drops_a_few_expired_events_per_write_and_all_when_trimmed,
        #[tokio::test(start_paused = true)] async trimming_drops_encodings_before_events,
        #[tokio::test] async a_watcher_that_sleeps_while_others_write_is_not_behind,
    );
}
