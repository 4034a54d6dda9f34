//! Concurrent writes.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::store::*;
use watchkeeper_core::ObjectKey;

use super::*;

/// A store in which, for a while, another writer changes every config map just before it is written.
#[derive(Default)]
struct Busy {
    store: MemoryStore,
    rivals: AtomicUsize,
}

impl Busy {
    fn has_rival(&self, collection: &CollectionId) -> bool {
        let fewer = |left: usize| left.checked_sub(1);
        collection.as_str() == "configmaps"
            && self.rivals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }
}

impl Store for Busy {
    fn get<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
    ) -> StoreFuture<'a, Result<Option<Arc<Stored>>, ReadError>> {
        self.store.get(collection, key)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Result<Range, ReadError>> {
        self.store.range(query)
    }

    fn put<'a>(
        &'a self,
        collection: &'a CollectionId,
        value: Unversioned,
        expect: Precondition,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move {
            if self.has_rival(collection) {
                let rival = match self.store.get(collection, value.key()).await.unwrap() {
                    Some(stored) => Unversioned::from_json(&stored.object().encoded.body).unwrap(),
                    None => value.clone(),
                };
                self.store.put(collection, rival, Precondition::Any).await?;
            }
            self.store.put(collection, value, expect).await
        })
    }

    fn delete<'a>(
        &'a self,
        collection: &'a CollectionId,
        key: &'a ObjectKey,
        at: Option<Revision>,
    ) -> StoreFuture<'a, Result<Arc<Stored>, WriteError>> {
        Box::pin(async move {
            if self.has_rival(collection) {
                let stored = self.store.get(collection, key).await.unwrap().unwrap();
                let rival = Unversioned::from_json(&stored.object().encoded.body).unwrap();
                self.store.put(collection, rival, Precondition::Any).await?;
            }
            self.store.delete(collection, key, at).await
        })
    }

    fn watch(&self, query: WatchQuery) -> StoreFuture<'_, Result<BoxWatch, WatchError>> {
        self.store.watch(query)
    }

    fn compact(&self, revision: Revision) -> StoreFuture<'_, Result<(), ReadError>> {
        self.store.compact(revision)
    }

    fn current(&self) -> StoreFuture<'_, Result<Revision, ReadError>> {
        self.store.current()
    }

    fn wait_for(&self, revision: Revision) -> StoreFuture<'_, Result<Revision, ReadError>> {
        self.store.wait_for(revision)
    }
}

async fn busy(rivals: usize) -> (Server, Arc<Busy>) {
    let store = Arc::new(Busy::default());
    let server = Server::with(store.clone()).await;
    server.post("configmaps", config_map("a")).await.unwrap();
    store.rivals.store(rivals, Ordering::Relaxed);
    (server, store)
}

#[tokio::test]
async fn a_name_is_generated_at_most_eight_times() {
    let (server, store) = busy(7).await;
    let prefix = json!({"metadata": {"generateName": "web-"}});
    assert_eq!(server.post("configmaps", prefix.clone()).await.unwrap().code, 201);
    store.rivals.store(8, Ordering::Relaxed);
    let status = server.post("configmaps", prefix).await.unwrap_err();
    assert!(status.is_already_exists());
    let text = "already exists, the server was not able to generate a unique name for the object";
    assert!(status.message.ends_with(text), "{}", status.message);
}

#[tokio::test]
async fn unconditional_updates_are_retried() {
    let (server, _) = busy(5).await;
    let patch = json!({"data": {"x": "y"}});
    let reply = server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap();
    assert_eq!(reply.body["data"], json!({"k": "v", "x": "y"}));
    let (server, _) = busy(5).await;
    server.put("configmaps/a", json!({"metadata": {"name": "a"}})).await.unwrap();
    let (server, _) = busy(5).await;
    server.delete("configmaps/a").await.unwrap();
    assert_eq!(server.stored("configmaps/a").await, None);
}

#[tokio::test]
async fn conditional_updates_get_a_conflict() {
    let (server, store) = busy(0).await;
    let mut body = server.stored("configmaps/a").await.unwrap();
    let version = body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    body["data"]["k"] = "w".into();
    store.rivals.store(1, Ordering::Relaxed);
    assert!(server.put("configmaps/a", body.clone()).await.unwrap_err().is_conflict());
    let body = server.stored("configmaps/a").await.unwrap();
    store.rivals.store(1, Ordering::Relaxed);
    let patch =
        json!({"metadata": {"resourceVersion": body["metadata"]["resourceVersion"]}, "data": {"k": "w"}});
    assert!(server.patch("configmaps/a", PatchType::Merge, patch).await.unwrap_err().is_conflict());
    store.rivals.store(1, Ordering::Relaxed);
    let options = DeleteOptions { resource_version: Some(version), ..Default::default() };
    assert!(server.delete_with("configmaps/a", options).await.unwrap_err().is_conflict());
}
