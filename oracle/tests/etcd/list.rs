//! Lists: pages at one revision, and compacted and future revisions.

use std::num::NonZeroU32;

use futures_util::TryStreamExt as _;
use watchkeeper_core::{
    ListAt, ListError, ListMeta, ListPart, ListRequest, ListWatch as _, Object, ResourceVersion, WatchError,
    WatchFrom, WatchRequest,
};
use watchkeeper_etcd::{Delete, Etcd, EtcdSource, Put, Txn};
use watchkeeper_oracle::EtcdServer;

use super::{client, gateway_range, keys_of, put};

const OBJECTS: u64 = 1200;

async fn fill(etcd: &Etcd) {
    for first in (0..OBJECTS).step_by(100) {
        let puts =
            (first..first + 100).map(|number| Put::new(format!("/c/shop/o{number:05}"), r#"{"turn":0}"#));
        etcd.txn(puts.fold(Txn::new(), Txn::then)).await.unwrap();
    }
    etcd.put(Put::new("/d/other", "{}")).await.unwrap();
}

async fn list(
    source: &EtcdSource,
    at: ListAt,
    limit: Option<u32>,
) -> Result<(Vec<Object>, ListMeta), ListError> {
    let request = ListRequest { at, limit: limit.and_then(NonZeroU32::new) };
    let mut parts: Vec<ListPart> = source.list(request).try_collect().await?;
    let Some(ListPart::End(end)) = parts.pop() else { panic!("the list has no end") };
    let items = parts.into_iter().map(|part| match part {
        ListPart::Item(object) => object,
        ListPart::End(_) => panic!("the list has two ends"),
    });
    Ok((items.collect(), end))
}

/// Updates, adds and deletes keys across the whole prefix.
async fn modify(etcd: &Etcd, turn: u64) {
    for number in [turn, 600 + turn, OBJECTS - 1 - turn] {
        put(etcd, &format!("/c/shop/o{number:05}"), turn + 1).await;
    }
    put(etcd, &format!("/c/a-new-{turn}"), turn).await;
    put(etcd, &format!("/c/zoo/new-{turn}"), turn).await;
    etcd.delete(Delete::key(format!("/c/shop/o{:05}", 300 + turn))).await.unwrap();
}

#[tokio::test]
async fn all_pages_have_one_revision_despite_concurrent_writes() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    fill(&etcd).await;
    let source = EtcdSource::new(etcd.clone(), "/c/");

    let (mut items, first) = list(&source, ListAt::MostRecent, Some(100)).await.unwrap();
    assert_eq!((items.len(), first.remaining_item_count), (100, Some(OBJECTS - 100)));
    let (mut token, mut pages) = (first.continue_token, 1);
    while let Some(next) = token {
        modify(&etcd, pages).await;
        let (page, end) = list(&source, ListAt::Page(next), Some(100)).await.unwrap();
        assert_eq!(end.resource_version, first.resource_version, "every page has the same version");
        items.extend(page);
        (token, pages) = (end.continue_token, pages + 1);
    }
    assert_eq!(pages, OBJECTS / 100);
    let revision = first.resource_version.as_u64().unwrap();
    let expected = gateway_range(&server, revision).await;
    assert_eq!(expected.len() as u64, OBJECTS);
    assert_eq!(keys_of(&items), expected);
    assert_ne!(
        keys_of(&items),
        gateway_range(&server, 0).await,
        "the list does not contain the later writes"
    );

    // The same version again without a limit; and the newest version, in several internal range requests.
    let (again, end) = list(&source, ListAt::Exact(first.resource_version.clone()), None).await.unwrap();
    assert_eq!((keys_of(&again), end.resource_version), (expected, first.resource_version.clone()));
    let ranges = EtcdSource::new(etcd.clone(), "/c/").page_size(NonZeroU32::new(100).unwrap());
    let (listed, end) =
        tokio::join!(list(&ranges, ListAt::NotOlderThan(first.resource_version), None), async {
            for turn in 20..120 {
                modify(&etcd, turn).await;
            }
        })
        .0
        .unwrap();
    let revision = end.resource_version.as_u64().unwrap();
    assert_eq!(keys_of(&listed), gateway_range(&server, revision).await);
    assert_eq!((end.continue_token, end.remaining_item_count), (None, None));
}

#[tokio::test]
async fn a_range_above_the_message_limit_is_read_in_parts() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    for number in 0..40 {
        let value = format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000));
        etcd.put(Put::new(format!("/c/o{number:05}"), value)).await.unwrap();
    }
    let narrow = Etcd::builder([server.url()]).max_message(100_000).build().unwrap();
    let (listed, _) = list(&EtcdSource::new(narrow, "/c/"), ListAt::MostRecent, None).await.unwrap();
    assert_eq!(keys_of(&listed), gateway_range(&server, 0).await);
    let tiny = Etcd::builder([server.url()]).max_message(10_000).build().unwrap();
    let failed = list(&EtcdSource::new(tiny, "/c/"), ListAt::MostRecent, None).await;
    assert!(matches!(failed, Err(ListError::Malformed(_))), "{failed:?}");
}

#[tokio::test]
async fn compacted_revisions_are_expired_and_future_ones_are_too_large() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    fill(&etcd).await;
    let source = EtcdSource::new(etcd.clone(), "/c/");
    let (_, end) = list(&source, ListAt::MostRecent, Some(100)).await.unwrap();
    put(&etcd, "/c/later", 1).await;
    let revision = put(&etcd, "/c/later", 2).await;
    let compacted = etcd.compact(i64::try_from(revision).unwrap()).await.unwrap();
    assert_eq!(compacted.revision, i64::try_from(revision).unwrap());

    let page = list(&source, ListAt::Page(end.continue_token.unwrap()), Some(100)).await;
    assert!(matches!(page, Err(ListError::Expired(_))), "{page:?}");
    let exact = list(&source, ListAt::Exact(end.resource_version.clone()), None).await;
    assert!(matches!(exact, Err(ListError::Expired(_))), "{exact:?}");
    let limited = list(&source, ListAt::Unqualified(end.resource_version.clone()), Some(10)).await;
    assert!(matches!(limited, Err(ListError::Expired(_))), "{limited:?}");
    let (_, newest) = list(&source, ListAt::Unqualified(end.resource_version.clone()), None).await.unwrap();
    assert_eq!(newest.resource_version, ResourceVersion::from(revision));

    let watch = |version| source.watch(WatchRequest::new(WatchFrom::After(version)));
    let mut old = watch(end.resource_version).await.unwrap();
    let expired = old.try_next().await;
    assert!(matches!(&expired, Err(WatchError::Expired(status)) if status.code == 410), "{expired:?}");

    let future = ResourceVersion::from(revision + 1000);
    for at in [ListAt::Exact(future.clone()), ListAt::NotOlderThan(future.clone())] {
        let rejected = list(&source, at, None).await;
        assert!(matches!(rejected, Err(ListError::TooLarge(_))), "{rejected:?}");
    }
    let rejected = watch(future).await.map(drop);
    assert!(matches!(rejected, Err(WatchError::TooLarge(_))), "{rejected:?}");
    let initial = WatchRequest::new(WatchFrom::InitialEvents { not_older_than: None });
    let rejected = source.watch(initial).await.map(drop);
    assert!(matches!(rejected, Err(WatchError::Rejected(_))), "{rejected:?}");
}
