//! Watchkeeper: Kubernetes clients, informers and controllers for Rust.
//!
//! This crate re-exports the parts, each of which can also be used on its own.
//!
//! | module | feature | contents |
//! |---|---|---|
//! | [`core`] | | shared types: object keys, resource versions, kinds, selectors, statuses, watch events, `ListWatch` |
//! | [`wire`] | | encodings: JSON and protobuf lists, watch frames, metadata, field pruning, transcoding, typed decoding |
//! | [`client`] | | kubeconfig, credentials, transport, REST requests, discovery, dynamic clients, exec and logs |
//! | [`cache`] | | informers: an indexed local copy of a collection, typed readers, event handlers |
//! | [`workqueue`] | | a rate-limited work queue: no key is processed twice at once; delays, backoff, priorities |
//! | [`controller`] | | reconcile loops over informers and the work queue; manager, leader election, finalizers, events |
//! | [`metrics`] | | counters, gauges and histograms in the Prometheus text format |
//! | `kinds` | `kinds` | every built-in kind as a Rust type: `Api<K>` and the `ClientSet` |
//! | `kinds` | `k8s-openapi` | accepts types of k8s-openapi and kube-rs's `#[derive(CustomResource)]` too; takes long to compile |
//! | `kinds` | `kube-5` | adds `kube_client`: a kube 5 client over our transport |
//! | `apiserver` | `apiserver` | an API server, in memory or in a directory, in process or over the network |
//! | `cluster` | `cluster` | built-in controllers, a scheduler and simulated nodes for that server |
//! | `web` | `web` | the web page, its HTTP API and the proxy to the API server, also for your own axum router |
//! | `testkit` | `testkit` | a cluster for tests in one line, in process; fault injection |
//! | `etcd` | `etcd` | an etcd client, and informers over an etcd prefix |
//!
//! Features are additive and off by default; modules without one are always there. The [`prelude`] has the types that
//! most programs need. The [glossary] compares our names with client-go's and kube-rs's.
//!
//! [glossary]: https://github.com/watchkeeper/watchkeeper/blob/main/docs/glossary.md
//!
//! ```
//! use watchkeeper::core::{ObjectMetaBuilder, LabelSelector};
//! use watchkeeper::wire::{Annotations, json};
//!
//! let pod = br#"{"metadata":{"name":"web-0","namespace":"shop","labels":{"app":"web"}},"spec":{}}"#;
//! let metadata = json::read_object_meta(pod, Annotations::Skip, &mut ObjectMetaBuilder::default())?;
//! let selector: LabelSelector = "app in (web, api), !canary".parse()?;
//! assert!(selector.matches(|key| metadata.label(key)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "apiserver")]
pub use watchkeeper_apiserver as apiserver;
pub use watchkeeper_cache as cache;
pub use watchkeeper_client as client;
#[cfg(feature = "cluster")]
pub use watchkeeper_cluster as cluster;
pub use watchkeeper_controller as controller;
pub use watchkeeper_core as core;
#[cfg(feature = "etcd")]
pub use watchkeeper_etcd as etcd;
#[cfg(feature = "kinds")]
pub use watchkeeper_kinds as kinds;
pub use watchkeeper_metrics as metrics;
#[cfg(feature = "testkit")]
pub use watchkeeper_testkit as testkit;
#[cfg(feature = "web")]
pub use watchkeeper_web as web;
pub use watchkeeper_wire as wire;
pub use watchkeeper_workqueue as workqueue;

/// The types that most programs need: `use watchkeeper::prelude::*`. Traits that only add methods have no name here.
///
/// ```no_run
/// use watchkeeper::prelude::*;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let factory = InformerFactory::new(Client::infer()?);
/// let pods = factory.informer(&Collection::new("", "v1", "pods", "Pod"));
/// let selector: LabelSelector = "app=web".parse()?;
/// # let _ = (pods, selector);
/// # Ok(())
/// # }
/// ```
pub mod prelude {
    pub use watchkeeper_cache::handler::{Filter, SubscriptionOptions};
    pub use watchkeeper_cache::{Informer, InformerFactory, Keep, Notification, Reader};
    pub use watchkeeper_client::discovery::Discovery as _;
    pub use watchkeeper_client::dynamic::DynamicObject;
    pub use watchkeeper_client::resource::{ApplyOptions, DeleteOptions, ListOptions, WriteOptions};
    pub use watchkeeper_client::rest::{PatchKind, RequestError};
    pub use watchkeeper_client::{Client, Config};
    pub use watchkeeper_controller::{Action, Controller, Finalizer, Finalizing, Manager, Request};
    pub use watchkeeper_core::{Collection, FieldSelector, LabelSelector, ObjectKey, ResourceVersion};
    pub use watchkeeper_core::{WatchEvent, WatchRequest};
    #[cfg(feature = "kinds")]
    pub use watchkeeper_kinds::Object as _;
    #[cfg(feature = "kinds")]
    pub use watchkeeper_kinds::{Api, ClientSet, TypedFactory};
}

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Compiles the examples of the guide for users of kube-rs, theirs and ours.
#[cfg(all(doctest, feature = "kube-5", feature = "testkit"))]
#[doc = include_str!("../../../docs/from-kube-rs.md")]
struct FromKubeRs;

/// Compiles our examples of the guide for users of client-go.
#[cfg(all(doctest, feature = "kinds", feature = "testkit"))]
#[doc = include_str!("../../../docs/from-client-go.md")]
struct FromClientGo;
