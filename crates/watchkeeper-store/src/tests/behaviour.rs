//! Writes, reads and watches, one at a time.

use std::num::NonZeroUsize;

use super::*;
use crate::{RangeQuery, ReadError};

fn page(start: Option<&str>, at: Option<Revision>, limit: usize) -> RangeQuery {
    let (start, limit) = (start.map(str::to_owned), NonZeroUsize::new(limit));
    RangeQuery { at, start, limit, ..RangeQuery::all(pods()) }
}

fn keys(items: &[Arc<Stored>]) -> Vec<String> {
    items.iter().map(|item| format!("{}{:?}", item.key(), item.modified())).collect()
}

fn an_empty_store_is_at_revision_1_and_the_first_change_is_2_whatever_its_collection<S: Subject>() {
    let store = S::fresh();
    assert_eq!(now(store.current()).unwrap(), Revision::FIRST);
    assert_eq!(now(store.range(RangeQuery::all(pods()))).unwrap().revision, Revision::new(1));
    assert_eq!(put(&store, "n/a"), Revision::new(2));
    let leases = CollectionId::from("coordination.k8s.io/leases");
    let lease = now(store.put(&leases, value("n/a", ""), Precondition::Absent)).unwrap();
    assert_eq!(lease.modified(), Revision::new(3));
    assert_eq!(now(store.range(RangeQuery::all(pods()))).unwrap().revision, Revision::new(3));
}

fn a_write_that_expects_something_else_changes_nothing_and_returns_what_is_stored<S: Subject>() {
    let store = S::fresh();
    assert_eq!(conflict(now(store.put(&pods(), value("n/a", ""), Precondition::At(Revision::new(2))))), None);
    assert_eq!(conflict(now(store.delete(&pods(), &key("n/a"), None))), None);
    let first = now(store.put(&pods(), value("n/a", "1"), Precondition::Absent)).unwrap();
    let second = now(store.put(&pods(), value("n/a", "2"), Precondition::At(first.modified()))).unwrap();
    assert_eq!((second.created(), second.modified()), (Revision::new(2), Revision::new(3)));

    for expect in
        [Precondition::Absent, Precondition::At(first.modified()), Precondition::At(Revision::new(4))]
    {
        let current = conflict(now(store.put(&pods(), value("n/a", "3"), expect)));
        assert_eq!(current.as_ref(), Some(&second), "{expect:?}");
    }
    assert_eq!(
        conflict(now(store.delete(&pods(), &key("n/a"), Some(first.modified())))),
        Some(second.clone())
    );
    assert_eq!(now(store.current()).unwrap(), second.modified());
    assert_eq!(now(store.get(&pods(), &key("n/a"))).unwrap(), Some(second));
}

fn a_deleted_object_leaves_its_last_state_under_the_revision_of_its_deletion<S: Subject>() {
    let store = S::fresh();
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    let stored = now(store.put(&pods(), value("n/a", "x"), Precondition::Absent)).unwrap();
    let last = now(store.delete(&pods(), &key("n/a"), Some(stored.modified()))).unwrap();
    assert_eq!(
        last.object().encoded.body.as_ref(),
        br#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"3"},"data":"x"}"#
    );
    assert_eq!(*last, stored.under(Revision::new(3)));
    assert_eq!(now(store.get(&pods(), &key("n/a"))).unwrap(), None);

    let batch = now(watch.next()).unwrap().unwrap();
    let deleted = &batch[1];
    assert_eq!(
        (deleted.current(), deleted.previous(), deleted.departed()),
        (None, Some(&stored), Some(&last))
    );
    assert_eq!(deleted.revision(), Revision::new(3));
}

fn all_pages_of_a_list_are_of_one_revision_whatever_is_written_between_them<S: Subject>() {
    let store = S::fresh();
    for name in ["n/a", "n/b", "n/c", "o/d", "o/e"] {
        put(&store, name);
    }
    let first = now(store.range(page(None, None, 2))).unwrap();
    assert_eq!((keys(&first.items), first.remaining), (vec!["n/a@2".into(), "n/b@3".into()], 3));

    delete(&store, "n/c");
    put(&store, "n/bb");
    put(&store, "o/d");
    let second = now(store.range(page(Some("n/b\0"), Some(first.revision), 2))).unwrap();
    assert_eq!((keys(&second.items), second.remaining), (vec!["n/c@4".into(), "o/d@5".into()], 1));
    let third = now(store.range(page(Some("o/d\0"), Some(first.revision), 2))).unwrap();
    assert_eq!((keys(&third.items), third.remaining), (vec!["o/e@6".into()], 0));
    assert_eq!([first.revision, second.revision, third.revision], [Revision::new(6); 3]);

    let inconsistent = now(store.range(page(Some("n/b\0"), None, 2))).unwrap();
    assert_eq!(keys(&inconsistent.items), ["n/bb@8", "o/d@9"]);
}

fn a_read_in_the_future_is_refused_and_waiting_for_it_ends_with_its_write<S: Subject>() {
    let store = S::fresh();
    put(&store, "n/a");
    let future = Revision::new(3);
    let refused = now(store.range(page(None, Some(future), 1)));
    assert!(
        matches!(refused, Err(ReadError::Future { asked, current }) if asked == future && current.get() == 2)
    );
    assert!(matches!(now(store.compact(future)), Err(ReadError::Future { .. })));

    let mut wait = store.wait_for(future);
    assert!((&mut wait).now_or_never().is_none());
    put(&store, "n/b");
    assert_eq!(now(wait).unwrap(), future);
    assert_eq!(now(store.wait_for(Revision::new(1))).unwrap(), future);
}

fn a_watch_yields_past_and_new_changes_in_order<S: Subject>() {
    let store = S::fresh();
    put(&store, "n/a");
    put(&store, "n/b");
    let mut watch = watch(&store, Revision::new(2)).unwrap();
    put(&store, "n/a");
    assert_eq!(drain(&mut watch), ["created n/b@3", "updated n/a@4"]);
    delete(&store, "n/a");
    assert_eq!(drain(&mut watch), ["deleted n/a@5"]);
    assert_eq!(drain(&mut watch), Vec::<String>::new());
}

fn a_watch_of_a_namespace_yields_only_its_changes_but_makes_progress_on_all<S: Subject>() {
    let store = S::fresh();
    let query = WatchQuery { collection: pods(), namespace: Some("n".into()), after: Revision::FIRST };
    let mut watch = now(store.watch(query)).unwrap();
    for name in ["m/x", "n/a", "n-1/a", "nn/a"] {
        put(&store, name);
    }
    assert_eq!(drain(&mut watch), ["created n/a@3"]);
    assert_eq!(watch.progress(), Revision::new(5));
}

fn a_watch_from_the_future_is_silent_until_then<S: Subject>() {
    let store = S::fresh();
    let mut watch = watch(&store, Revision::new(3)).unwrap();
    assert_eq!(watch.progress(), Revision::new(3));
    for name in ["n/a", "n/b", "n/c"] {
        put(&store, name);
    }
    assert_eq!(drain(&mut watch), ["created n/c@4"]);
}

fn a_watch_reports_progress_only_up_to_what_it_has_yielded<S: Subject>() {
    let store = S::fresh();
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    now(store.put(&"nodes".into(), value("n", ""), Precondition::Absent)).unwrap();
    assert_eq!(watch.progress(), Revision::new(2), "nothing of this collection is pending");
    put(&store, "n/a");
    put(&store, "n/b");
    assert_eq!(watch.progress(), Revision::new(2), "both are pending");
    assert_eq!(drain(&mut watch).len(), 2);
    assert_eq!(watch.progress(), Revision::new(4));
}

async fn a_sleeping_watcher_is_woken_by_a_write_and_a_dropped_poll_loses_nothing<S: Subject>() {
    let store = S::fresh();
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    for _ in 0..3 {
        assert!(watch.next().now_or_never().is_none());
    }
    let sleeper = tokio::spawn(async move { watch.next().await.unwrap().unwrap() });
    tokio::task::yield_now().await;
    put(&store, "n/a");
    assert_eq!(format!("{:?}", sleeper.await.unwrap()), "[created n/a@2]");
}

fn a_write_that_is_never_polled_never_happens<S: Subject>() {
    let store: Box<dyn Store> = Box::new(S::fresh());
    drop(store.put(&pods(), value("n/a", ""), Precondition::Any));
    assert_eq!(now(store.current()).unwrap(), Revision::FIRST);
}

#[test]
fn in_memory_a_write_happens_within_one_poll() {
    let store = MemoryStore::default();
    let written = store.put(&pods(), value("n/a", ""), Precondition::Any).now_or_never();
    assert_eq!(written.unwrap().unwrap().modified(), Revision::new(2));
}

fn dropping_a_watch_frees_its_events<S: Subject>() {
    let store = S::fresh();
    let mut watch = watch(&store, Revision::FIRST).unwrap();
    let stored = now(store.put(&pods(), value("n/a", ""), Precondition::Any)).unwrap();
    let batch: Vec<Arc<Event>> = now(watch.next()).unwrap().unwrap();
    assert_eq!(Arc::strong_count(&batch[0]), 2, "the batch and the history");
    drop(batch);
    drop(watch);
    assert_eq!(Arc::strong_count(&stored), 3, "this test, the live objects, the history");
    drop(store);
    assert_eq!(Arc::strong_count(&stored), 1);
}

of_each_store!(
    an_empty_store_is_at_revision_1_and_the_first_change_is_2_whatever_its_collection,
    a_write_that_expects_something_else_changes_nothing_and_returns_what_is_stored,
    a_deleted_object_leaves_its_last_state_under_the_revision_of_its_deletion,
    all_pages_of_a_list_are_of_one_revision_whatever_is_written_between_them,
    a_read_in_the_future_is_refused_and_waiting_for_it_ends_with_its_write,
    a_watch_yields_past_and_new_changes_in_order,
    a_watch_of_a_namespace_yields_only_its_changes_but_makes_progress_on_all,
    a_watch_from_the_future_is_silent_until_then,
    a_watch_reports_progress_only_up_to_what_it_has_yielded,
    a_write_that_is_never_polled_never_happens,
    dropping_a_watch_frees_its_events,
);

mod waiting {
    use super::*;
    of_each_store!(
        #[tokio::test] async a_sleeping_watcher_is_woken_by_a_write_and_a_dropped_poll_loses_nothing,
    );
}
