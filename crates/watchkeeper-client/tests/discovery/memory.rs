//! The memory cache: one request, repeated failures, retries.

use std::sync::Arc;

use serde_json::json;
use watchkeeper_client::discovery::{Discovery as _, DiscoveryError, MemoryCache};
use watchkeeper_core::GroupVersion;

use crate::requests::names;
use crate::served::{Served, V2, group, resource};

#[tokio::test]
async fn concurrent_callers_share_one_discovery() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    assert!(!cache.fresh());
    let callers = (0..20).map(|_| cache.discover());
    for found in futures_util::future::join_all(callers).await {
        assert_eq!(names(&found.unwrap()), ["v1/pods"]);
    }
    assert!(cache.fresh());
    assert_eq!(served.requests().len(), 2);
}

#[tokio::test]
async fn new_groups_are_found_after_invalidation() {
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
async fn errors_are_not_cached() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    served.fail("/apis", 500);
    let cache = MemoryCache::new(Arc::new(served.client()));
    cache.discover().await.unwrap_err();
    assert!(!cache.fresh() && cache.known().is_none());
    served.serve_aggregated(V2, &[]);
    cache.discover().await.unwrap();
    assert!(cache.fresh());
}

#[tokio::test]
async fn transient_failures_are_retried_and_others_returned_again() {
    let served = Served::start().await;
    served.serve_legacy(&["a", "b"]);
    let (transient, lasting) = (GroupVersion::new("a", "v1"), GroupVersion::new("b", "v1"));
    served.fail("/apis/a/v1", 503);
    served.fail("/apis/b/v1", 403);
    let cache = MemoryCache::new(Arc::new(served.client()));
    assert_eq!(cache.discover().await.unwrap().failures.len(), 2);
    served.requests();
    served.serve_legacy(&["a", "b"]);
    let found = cache.discover().await.unwrap();
    assert_eq!(found.failures.keys().collect::<Vec<_>>(), [&lasting]);
    assert_eq!(cache.resources(&transient).await.unwrap().resources[0].name, "as");
    cache.resources(&lasting).await.unwrap_err();
    assert_eq!(served.requests(), ["/apis/a/v1"]);
    cache.invalidate();
    assert!(cache.discover().await.unwrap().partial().is_none());
}

#[tokio::test]
async fn a_result_requested_before_an_invalidation_is_not_cached() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    let mut discovery = cache.discover();
    // Polling sends the request.
    assert!(futures_util::poll!(&mut discovery).is_pending());
    cache.invalidate();
    discovery.await.unwrap();
    assert!(!cache.fresh());
}

#[tokio::test]
async fn a_dropped_caller_leaves_the_cache_usable() {
    let served = Served::start().await;
    served.serve_aggregated(V2, &[]);
    let cache = MemoryCache::new(Arc::new(served.client()));
    {
        let mut discovery = cache.discover();
        assert!(futures_util::poll!(&mut discovery).is_pending());
    }
    assert_eq!(names(&cache.discover().await.unwrap()), ["v1/pods"]);
}
