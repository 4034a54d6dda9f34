//! Visibility of writes, and sharing of syncs.

use futures_util::future::join_all;
use futures_util::{FutureExt as _, StreamExt as _};

use super::*;

#[tokio::test]
async fn a_write_is_invisible_until_it_is_on_disk() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let pods = CollectionId::from("pods");
    let query = WatchQuery { collection: pods.clone(), namespace: None, after: Revision::FIRST };
    let mut watch = store.watch(query).await.unwrap();

    files.hold(true);
    let mut write = store.put(&pods, value("n/a", ""), Precondition::Absent);
    assert!((&mut write).now_or_never().is_none());
    files.until_held();
    assert_eq!(store.get(&pods, &key("n/a")).await.unwrap(), None);
    assert_eq!(store.current().await.unwrap(), Revision::FIRST);
    assert!(watch.next().now_or_never().is_none());
    assert!((&mut write).now_or_never().is_none());

    files.hold(false);
    let stored = write.await.unwrap();
    assert_eq!(store.get(&pods, &key("n/a")).await.unwrap(), Some(stored));
    assert_eq!(watch.next().await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn writes_that_come_while_the_disk_is_busy_share_the_next_sync_and_see_each_other() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let pods = CollectionId::from("pods");
    let before = files.syncs();
    files.hold(true);
    let mut first = store.put(&pods, value("n/first", ""), Precondition::Absent);
    assert!((&mut first).now_or_never().is_none());
    files.until_held();

    let many = join_all(
        (0..100)
            .map(|number| store.put(&pods, value(&format!("n/{}", number % 50), ""), Precondition::Absent)),
    );
    let a_key = key("n/7");
    let mut rest = Box::pin(async {
        let many = many.await;
        (many, store.delete(&pods, &a_key, Some(Revision::new(10))).await)
    });
    assert!((&mut rest).now_or_never().is_none());
    files.hold(false);
    assert_eq!(first.await.unwrap().modified(), Revision::new(2));
    let (many, deleted) = rest.await;
    for (number, result) in many.into_iter().enumerate() {
        match (number < 50, result) {
            (true, Ok(stored)) => assert_eq!(stored.modified().get(), number as u64 + 3),
            (false, Err(WriteError::Conflict { current: Some(current) })) => {
                assert_eq!(current.modified().get(), number as u64 - 50 + 3, "disk.D2");
            }
            (_, result) => panic!("{number}: {result:?}"),
        }
    }
    assert_eq!(deleted.unwrap().modified(), Revision::new(53));
    assert_eq!(
        files.syncs() - before,
        6,
        "the first, the hundred, the deletion: the log and the mark for each"
    );
}

#[tokio::test]
async fn a_write_completes_after_its_caller_is_gone_and_before_the_store_is_dropped() {
    let files = FakeFiles::default();
    let store = open(&files, NEVER).unwrap();
    let pods = CollectionId::from("pods");
    files.hold(true);
    let mut write = store.put(&pods, value("n/a", ""), Precondition::Absent);
    assert!((&mut write).now_or_never().is_none());
    drop(write);
    files.hold(false);
    drop(store);
    assert_eq!(open(&files, NEVER).unwrap().recovery().objects, 1);
}
