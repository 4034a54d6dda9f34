//! Informers: their contents equal a range request despite lost connections, restarts of etcd and compactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use watchkeeper_cache::delta::Delta;
use watchkeeper_cache::handler::{Filter, RawEvent};
use watchkeeper_cache::reflector::{Backoff, Observer};
use watchkeeper_cache::{Informer, Keep, Reflector};
use watchkeeper_core::{LabelSelector, ListWatch as _, WatchEvent, WatchFrom, WatchRequest};
use watchkeeper_etcd::{ChangeKind, Delete, Etcd, EtcdSource, Put, Txn, Watch};
use watchkeeper_oracle::EtcdServer;
use watchkeeper_testkit::{FaultProxy, NetworkFault};
use watchkeeper_wire::Kind;

use super::{client, gateway_range, keys_of, put, soon};

/// Counts completed lists.
#[derive(Clone, Default)]
struct ListCounter(Arc<AtomicU64>);

impl ListCounter {
    fn get(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Observer for ListCounter {
    fn list_ends(&mut self, _: Duration, _: u64) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

async fn start(source: EtcdSource) -> (Informer, ListCounter) {
    let lists = ListCounter::default();
    let observer = lists.clone();
    let kind = Kind::new("example.com", "v1", "Value");
    // With this many failures, the default delays would grow to half a minute.
    let backoff =
        Backoff { base: Duration::from_millis(100), cap: Duration::from_millis(500), ..Backoff::default() };
    let configure = |reflector: Reflector<_>| reflector.observer(observer).backoff(backoff);
    let informer = Informer::builder(kind, source).configure(configure).build();
    informer.start();
    assert!(soon("the first list", informer.wait_until_ready()).await);
    (informer, lists)
}

/// Returns a proxy that injects network faults, and a client that connects through it.
async fn through_proxy(server: &EtcdServer) -> (FaultProxy, Etcd) {
    let address = server.url().strip_prefix("http://").unwrap().parse().unwrap();
    let proxy = FaultProxy::start(address).await.unwrap();
    let etcd = Etcd::builder([proxy.url(server.url())]).build().unwrap();
    (proxy, etcd)
}

/// Waits until the informer has reached a revision, and compares its contents with etcd's. Nothing may be written
/// meanwhile.
async fn assert_agrees(informer: &Informer, server: &EtcdServer, revision: u64) {
    soon("the last write", informer.store().wait_for(&revision.into())).await;
    let snapshot = informer.store().snapshot();
    assert_eq!(keys_of(snapshot.iter().map(|object| &**object)), gateway_range(server, 0).await);
}

/// Puts, deletes and runs transactions. Returns the last revision.
async fn write(etcd: &Etcd, turn: u64) -> u64 {
    for number in 0..30 {
        put(etcd, &format!("/c/shop/o{number}"), turn).await;
        put(etcd, &format!("/c/{turn}-{number}"), turn).await;
    }
    // Several keys at one revision, and a key that is deleted and recreated.
    let txn = (0..20).map(|number| Put::new(format!("/c/bulk/o{number}"), format!(r#"{{"turn":{turn}}}"#)));
    etcd.txn(txn.fold(Txn::new(), Txn::then)).await.unwrap();
    etcd.delete(Delete::key("/c/shop/o3")).await.unwrap();
    put(etcd, "/c/shop/o3", turn + 1000).await;
    etcd.delete(Delete::prefix(format!("/c/{turn}-1"))).await.unwrap();
    etcd.put(Put::new("/d/elsewhere", "{}")).await.unwrap();
    put(etcd, "/c/last", turn).await
}

#[tokio::test]
async fn an_informer_equals_a_range_request() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let revision = write(&etcd, 1).await;
    let (informer, lists) = start(EtcdSource::new(etcd.clone(), "/c/")).await;
    assert_agrees(&informer, &server, revision).await;
    for turn in 2..6 {
        let revision = write(&etcd, turn).await;
        assert_agrees(&informer, &server, revision).await;
    }
    assert_eq!(lists.get(), 1);
    let reader = informer.reader::<serde_json::Value>(Keep::Encoded);
    assert_eq!(reader.namespace("shop").get("o3").unwrap().unwrap()["turn"], 1005);
    informer.stop().await;
}

#[tokio::test]
async fn the_informer_resumes_after_a_lost_connection_and_relists_after_a_compaction() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    write(&etcd, 1).await;
    let (proxy, through) = through_proxy(&server).await;
    let (informer, lists) = start(EtcdSource::new(through, "/c/")).await;

    for (turn, compact, expected_lists) in [(2, false, 1), (3, true, 2), (4, false, 2), (5, true, 3)] {
        // The watch delivers an event first, so that the reflector does not take its end for a rejection.
        let revision = put(&etcd, "/c/marker", turn).await;
        soon("the marker", informer.store().wait_for(&revision.into())).await;
        proxy.refuse().await.unwrap();
        assert!(proxy.inject(NetworkFault::reset()) > 0);
        let revision = write(&etcd, turn).await;
        if compact {
            etcd.compact(i64::try_from(revision).unwrap()).await.unwrap();
        }
        proxy.accept().await.unwrap();
        assert_agrees(&informer, &server, revision).await;
        assert_eq!(lists.get(), expected_lists, "in turn {turn}");
    }
    informer.stop().await;
}

#[tokio::test]
async fn the_informer_resumes_after_etcd_is_killed_and_restarted() {
    let mut server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    write(&etcd, 1).await;
    let (informer, lists) = start(EtcdSource::new(etcd.clone(), "/c/")).await;
    for turn in 2..4 {
        let revision = put(&etcd, "/c/marker", turn).await;
        soon("the marker", informer.store().wait_for(&revision.into())).await;
        server.kill().unwrap();
        assert!(etcd.put(Put::new("/c/lost", "{}")).await.unwrap_err().is_unavailable());
        server.restart().await.unwrap();
        let revision = write(&etcd, turn).await;
        assert_agrees(&informer, &server, revision).await;
    }
    assert_eq!(lists.get(), 1, "no relist was needed");
    informer.stop().await;
}

#[tokio::test]
async fn an_expired_lease_is_reported_as_a_deletion() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let lease = etcd.lease_grant(Duration::from_secs(1)).await.unwrap();
    let written = etcd.put(Put::new("/c/shop/leased", r#"{"turn":1}"#).lease(lease.id)).await.unwrap();
    let (informer, _) = start(EtcdSource::new(etcd, "/c/")).await;
    let mut events = informer.raw_events(Filter::default(), 100);
    let deleted = soon("the end of the lease", async {
        loop {
            match events.next().await.unwrap() {
                RawEvent::Event(Delta::Deleted { old, last }) => return (old, last.unwrap()),
                RawEvent::Event(_) => {}
                RawEvent::Lagged(_) => panic!("the queue is large enough"),
            }
        }
    })
    .await;
    let (old, last) = deleted;
    assert_eq!(last.metadata.key().to_string(), "shop/leased");
    assert_eq!(last.encoded, old.encoded, "`last` has the last value");
    assert_eq!(last.metadata.uid(), written.header.revision.to_string());
    assert!(
        last.metadata.resource_version().as_u64().unwrap()
            > old.metadata.resource_version().as_u64().unwrap()
    );
    assert!(gateway_range(&server, 0).await.is_empty());
    informer.stop().await;
}

#[tokio::test]
async fn bookmarks_advance_the_version_of_an_idle_prefix() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    put(&etcd, "/c/quiet", 1).await;
    let (proxy, through) = through_proxy(&server).await;
    let source = EtcdSource::new(through, "/c/").progress_every(Duration::from_millis(50));
    let (informer, lists) = start(source).await;
    let mut revision = 0;
    for turn in 0..3 {
        revision = put(&etcd, "/d/noisy", turn).await;
        soon("a bookmark", informer.store().wait_for(&revision.into())).await;
    }
    // The bookmark is past the compacted revision, so no relist is needed.
    etcd.compact(i64::try_from(revision).unwrap()).await.unwrap();
    assert!(proxy.inject(NetworkFault::reset()) > 0);
    let revision = put(&etcd, "/c/quiet", 2).await;
    assert_agrees(&informer, &server, revision).await;
    assert_eq!(lists.get(), 1);
    informer.stop().await;
}

#[tokio::test]
async fn progress_notifications_of_etcd_advance_the_version() {
    let server = EtcdServer::builder().arg("--watch-progress-notify-interval=100ms").start().await.unwrap();
    let etcd = client(&server);
    put(&etcd, "/c/quiet", 1).await;
    let source = EtcdSource::new(etcd.clone(), "/c/").progress_every(Duration::from_secs(3600));
    let (informer, _) = start(source).await;
    let revision = put(&etcd, "/d/noisy", 1).await;
    soon("a bookmark", informer.store().wait_for(&revision.into())).await;
    informer.stop().await;
}

#[tokio::test]
async fn all_changes_of_a_fragmented_revision_are_delivered() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let value = format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000));
    let mut revision = 0;
    for number in 0..200 {
        let put = Put::new(format!("/c/o{number:03}"), value.clone());
        revision = etcd.put(put).await.unwrap().header.revision;
    }
    let mut plain = etcd.watch(&Watch::prefix("/c/").from(revision + 1).previous()).await.unwrap();
    let after = WatchFrom::After(u64::try_from(revision).unwrap().into());
    let mut events = EtcdSource::new(etcd.clone(), "/c/").watch(WatchRequest::new(after)).await.unwrap();

    let deleted = etcd.delete(Delete::prefix("/c/")).await.unwrap();
    assert_eq!(deleted.deleted, 200);
    let first = soon("the first fragment", plain.next()).await.unwrap();
    assert!(first.fragment && first.changes.len() < 200, "the response is fragmented");
    assert_eq!(first.changes[0].kind, ChangeKind::Delete);
    let end = u64::try_from(deleted.header.revision).unwrap();
    for number in 0..200 {
        let event = soon("a deletion", events.next()).await.unwrap().unwrap();
        let WatchEvent::Deleted(object) = &event else { panic!("{event:?}") };
        assert_eq!(object.metadata.key().to_string(), format!("o{number:03}"));
        assert_eq!(object.metadata.resource_version(), &end.into());
        assert_eq!(&*object.encoded.body, value.as_bytes());
    }
}

#[tokio::test]
async fn invalid_values_are_reported_and_skipped() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    etcd.put(Put::new("/c/invalid", "not JSON")).await.unwrap();
    put(&etcd, "/c/valid", 1).await;
    let reported = Arc::new(AtomicU64::new(0));
    let counter = reported.clone();
    let source = EtcdSource::new(etcd.clone(), "/c/").on_skipped(move |skipped| {
        assert!(skipped.kv.value.starts_with(b"not JSON"), "{skipped:?}");
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let (informer, _) = start(source).await;
    let names = || {
        let all = informer.store().snapshot();
        all.iter().map(|object| object.metadata.key().to_string()).collect::<Vec<_>>()
    };
    assert_eq!((names(), reported.load(Ordering::SeqCst)), (vec!["valid".to_owned()], 1));
    put(&etcd, "/c/invalid", 2).await;
    etcd.put(Put::new("/c/valid", "not JSON either")).await.unwrap();
    let revision = put(&etcd, "/c/last", 2).await;
    soon("the last write", informer.store().wait_for(&revision.into())).await;
    assert_eq!(
        (names(), reported.load(Ordering::SeqCst)),
        (vec!["invalid".to_owned(), "last".to_owned()], 2)
    );
    informer.stop().await;
}

#[tokio::test]
async fn label_selectors_follow_changes_of_labels() {
    let server = EtcdServer::start().await.unwrap();
    let etcd = client(&server);
    let put_colour = async |name: &str, colour: &str| {
        let value = format!(r#"{{"metadata":{{"labels":{{"colour":"{colour}"}}}}}}"#);
        etcd.put(Put::new(format!("/c/{name}"), value)).await.unwrap().header.revision
    };
    put_colour("a", "red").await;
    put_colour("b", "blue").await;
    put_colour("c", "red").await;
    let reds: LabelSelector = "colour=red".parse().unwrap();
    let (informer, _) = start(EtcdSource::new(etcd.clone(), "/c/").labels(reds)).await;
    let names = || {
        let all = informer.store().snapshot();
        all.iter().map(|object| object.metadata.key().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["a", "c"]);
    put_colour("a", "blue").await;
    let revision = put_colour("b", "red").await;
    soon("the last write", informer.store().wait_for(&u64::try_from(revision).unwrap().into())).await;
    assert_eq!(names(), ["b", "c"]);
    informer.stop().await;
}
