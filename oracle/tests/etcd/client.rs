//! The client: transactions, ranges, leases, watches and endpoints on a real etcd.

use std::time::Duration;

use watchkeeper_etcd::{
    ChangeKind, Compare, CompareOp, Delete, Error, Etcd, Put, Range, Txn, TxnOpResponse, Watch,
};
use watchkeeper_oracle::EtcdServer;

use super::{client, gateway_range, soon};

#[tokio::test]
async fn a_transaction_runs_the_branch_that_its_comparison_selects() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let create = || {
        Txn::new()
            .when(Compare::mod_revision("/c/a", CompareOp::Equal, 0))
            .then(Put::new("/c/a", "1"))
            .otherwise(Range::key("/c/a"))
    };
    let created = etcd.txn(create()).await.unwrap();
    assert!(created.succeeded && matches!(created.responses[..], [TxnOpResponse::Put(_)]), "{created:?}");
    let revision = created.header.revision;

    let again = etcd.txn(create()).await.unwrap();
    let [TxnOpResponse::Range(range)] = &again.responses[..] else { panic!("{again:?}") };
    assert!(!again.succeeded && range.kvs[0].value == "1" && range.kvs[0].mod_revision == revision);

    let update = |expected| {
        Txn::new()
            .when(Compare::mod_revision("/c/a", CompareOp::Equal, expected))
            .then(Put::new("/c/a", "2").previous())
            .then(Put::new("/c/b", "2"))
    };
    assert!(!etcd.txn(update(revision + 7)).await.unwrap().succeeded);
    let updated = etcd.txn(update(revision)).await.unwrap();
    let [TxnOpResponse::Put(put), TxnOpResponse::Put(_)] = &updated.responses[..] else {
        panic!("{updated:?}")
    };
    assert_eq!(put.previous.as_ref().unwrap().value, "1");
    let at = updated.header.revision.to_string();
    let row = |create: i64, value: &str| (create.to_string(), at.clone(), value.to_owned());
    let expected =
        [("a".to_owned(), row(revision, "2")), ("b".to_owned(), row(updated.header.revision, "2"))];
    assert_eq!(gateway_range(&server, 0).await, expected.into());

    let comparisons = [
        Compare::version("/c/a", CompareOp::Equal, 2),
        Compare::create_revision("/c/a", CompareOp::Less, revision + 1),
        Compare::mod_revision("/c/a", CompareOp::Greater, revision),
        Compare::value("/c/a", CompareOp::NotEqual, "1"),
        Compare::lease("/c/a", CompareOp::Equal, 0),
    ];
    let delete = Delete::prefix("/c/").previous();
    let deleted = etcd.txn(comparisons.into_iter().fold(Txn::new(), Txn::when).then(delete)).await.unwrap();
    let [TxnOpResponse::Delete(delete)] = &deleted.responses[..] else { panic!("{deleted:?}") };
    assert_eq!((delete.deleted, delete.previous.len()), (2, 2));
    assert!(gateway_range(&server, 0).await.is_empty());
}

#[tokio::test]
async fn ranges_support_limits_counts_and_past_revisions() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let mut first = 0;
    for name in ["a", "b", "c"] {
        let written = etcd.put(Put::new(format!("/c/{name}"), name)).await.unwrap();
        first = if first == 0 { written.header.revision } else { first };
    }
    let page = etcd.range(Range::prefix("/c/").limit(2)).await.unwrap();
    assert_eq!((page.kvs.len(), page.more, page.count), (2, true, 3));
    let keys = etcd.range(Range::prefix("/c/").keys_only().serializable()).await.unwrap();
    assert!(keys.kvs.len() == 3 && keys.kvs.iter().all(|kv| kv.value.is_empty()));
    let count = etcd.range(Range::prefix("").count_only()).await.unwrap();
    assert!(count.kvs.is_empty() && count.count == 3);
    let between = etcd.range(Range::between("/c/b", "/c/c")).await.unwrap();
    assert_eq!(between.kvs[0].key, "/c/b");
    let at_first = etcd.range(Range::prefix("/c/").revision(first)).await.unwrap();
    assert_eq!((at_first.kvs.len(), at_first.header.revision), (1, first + 2));
    let future = etcd.range(Range::prefix("/c/").revision(first + 100)).await;
    assert!(matches!(future, Err(Error::FutureRevision)), "{future:?}");
    etcd.compact(first + 1).await.unwrap();
    let past = etcd.range(Range::prefix("/c/").revision(first)).await;
    assert!(matches!(past, Err(Error::Compacted { .. })), "{past:?}");
    let invalid = etcd.put(Put::new("", "")).await;
    assert!(matches!(invalid, Err(Error::Rpc { code: 3, .. })), "{invalid:?}");
}

#[tokio::test]
async fn leases_are_granted_kept_alive_and_revoked() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let lease = etcd.lease_grant(Duration::from_millis(59_001)).await.unwrap();
    assert_eq!(lease.ttl, 60);
    etcd.put(Put::new("/c/a", "1").lease(lease.id)).await.unwrap();
    assert_eq!(etcd.range(Range::key("/c/a")).await.unwrap().kvs[0].lease, lease.id);
    assert_eq!(etcd.lease_keep_alive(lease.id).await.unwrap().ttl, 60);
    etcd.lease_revoke(lease.id).await.unwrap();
    assert!(gateway_range(&server, 0).await.is_empty());
    assert!(matches!(etcd.lease_keep_alive(lease.id).await, Err(Error::LeaseNotFound)));
    assert!(matches!(etcd.lease_revoke(lease.id).await, Err(Error::LeaseNotFound)));
    let put = etcd.put(Put::new("/c/a", "1").lease(lease.id)).await;
    assert!(matches!(put, Err(Error::LeaseNotFound)), "{put:?}");
}

#[tokio::test]
async fn a_watch_replays_past_changes_and_reports_progress() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let first = etcd.put(Put::new("/c/a", "1")).await.unwrap().header.revision;
    etcd.put(Put::new("/d/a", "1")).await.unwrap();
    let mut watch = etcd.watch(&Watch::prefix("/c/").from(first).previous()).await.unwrap();
    assert_eq!(watch.created().revision, first + 1);
    let old = soon("the past write", watch.next()).await.unwrap();
    assert_eq!((&old.changes[0].kv.value[..], old.changes[0].kind), (&b"1"[..], ChangeKind::Put));
    etcd.delete(Delete::key("/c/a")).await.unwrap();
    let deletion = soon("the deletion", watch.next()).await.unwrap();
    assert_eq!(deletion.changes[0].kind, ChangeKind::Delete);
    assert_eq!(deletion.changes[0].previous.as_ref().unwrap().value, "1");
    let elsewhere = etcd.put(Put::new("/d/a", "2")).await.unwrap().header.revision;
    watch.request_progress();
    let progress = soon("progress", watch.next()).await.unwrap();
    assert!(progress.is_progress() && progress.header.revision == elsewhere, "{progress:?}");

    etcd.compact(elsewhere).await.unwrap();
    let mut late = etcd.watch(&Watch::key("/c/a").from(first)).await.unwrap();
    let compacted = soon("the end of the watch", late.next()).await;
    assert!(
        matches!(compacted, Err(Error::Compacted { first: Some(at) }) if at == elsewhere),
        "{compacted:?}"
    );
}

#[tokio::test]
async fn the_client_fails_over_from_an_unreachable_endpoint() {
    let mut server = EtcdServer::start().await.unwrap();
    let mut second = EtcdServer::start().await.unwrap();
    let etcd = Etcd::builder(["http://127.0.0.1:1", server.url(), second.url()]).build().unwrap();
    // The two servers do not form a cluster, so their contents show which of them responded.
    client(&second).put(Put::new("/c/second", "1")).await.unwrap();
    assert_eq!(etcd.range(Range::key("/c/second")).await.unwrap().count, 0);
    server.kill().unwrap();
    assert_eq!(
        etcd.range(Range::key("/c/second")).await.unwrap().count,
        1,
        "the read is retried on the next endpoint"
    );
    second.kill().unwrap();
    let unreachable = etcd.range(Range::key("/c/second")).await;
    assert!(matches!(unreachable, Err(Error::Unreachable(_))), "{unreachable:?}");
    server.restart().await.unwrap();
    etcd.put(Put::new("/c/first", "1")).await.unwrap();
    assert_eq!(gateway_range(&server, 0).await.len(), 1);
}
