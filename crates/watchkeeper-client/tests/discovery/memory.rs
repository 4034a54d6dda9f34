//! The memory cache: asks once, says again, heals.

use std::sync::Arc;

use serde_json::json;
use watchkeeper_client::discovery::{Discovery as _, DiscoveryError, MemoryCache};
use watchkeeper_core::GroupVersion;

use crate::asked::names;
use crate::served::{Served, V2, group, resource};

#[tokio::test]
async fn however_many_ask_the_server_is_asked_once() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    assert!(!cache.fresh());
    let asked = (0..20).map(|_| cache.discover());
    for found in futures_util::future::join_all(asked).await {
        assert_eq!(names(&found.unwrap()), ["v1/pods"]);
    }
    assert!(cache.fresh());
    assert_eq!(served.asked().len(), 2);
}

#[tokio::test]
async fn what_is_new_is_seen_after_invalidation() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    cache.discover().await.unwrap();
    let new = json!({"version": "v1", "resources": [resource("a", "as", "A")]});
    served.serve_aggregated(V2, &[group("a", &[new])]);
    assert_eq!(names(&cache.discover().await.unwrap()), ["v1/pods"]);
    cache.invalidate();
    assert!(!cache.fresh());
    assert_eq!(names(&cache.discover().await.unwrap()), ["v1/pods", "a/v1/as"]);
    let unknown = cache.resources(&GroupVersion::new("b", "v1")).await.unwrap_err();
    assert!(matches!(&unknown, DiscoveryError::Unknown(_)) && unknown.is_not_found());
    assert_eq!(unknown.to_string(), "the server does not serve b/v1");
}

#[tokio::test]
async fn an_error_is_not_remembered() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    served.refuse("/apis", 500);
    let cache = MemoryCache::new(Arc::new(served.client()));
    cache.discover().await.unwrap_err();
    assert!(!cache.fresh() && cache.known().is_none());
    served.serve_aggregated(V2, &[]);
    cache.discover().await.unwrap();
    assert!(cache.fresh());
}

#[tokio::test]
async fn a_failure_that_may_pass_is_tried_again_and_another_is_said_again() {
    let served = Served::start().await;
    served.serve_legacy(&["a", "b"]);
    let (passing, lasting) = (GroupVersion::new("a", "v1"), GroupVersion::new("b", "v1"));
    served.refuse("/apis/a/v1", 503);
    served.refuse("/apis/b/v1", 403);
    let cache = MemoryCache::new(Arc::new(served.client()));
    assert_eq!(cache.discover().await.unwrap().failures.len(), 2);
    served.asked();
    served.serve_legacy(&["a", "b"]);
    let found = cache.discover().await.unwrap();
    assert_eq!(found.failures.keys().collect::<Vec<_>>(), [&lasting]);
    assert_eq!(cache.resources(&passing).await.unwrap().resources[0].name, "as");
    cache.resources(&lasting).await.unwrap_err();
    assert_eq!(served.asked(), ["/apis/a/v1"]);
    cache.invalidate();
    assert!(cache.discover().await.unwrap().partial().is_none());
}

#[tokio::test]
async fn what_was_asked_before_an_invalidation_is_not_remembered_after_it() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    let mut asked = cache.discover();
    // The request is under way once it has been polled.
    assert!(futures_util::poll!(&mut asked).is_pending());
    cache.invalidate();
    asked.await.unwrap();
    assert!(!cache.fresh());
}

#[tokio::test]
async fn whoever_gives_up_leaves_the_cache_usable() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    {
        let mut asked = cache.discover();
        assert!(futures_util::poll!(&mut asked).is_pending());
    }
    assert_eq!(names(&cache.discover().await.unwrap()), ["v1/pods"]);
}
