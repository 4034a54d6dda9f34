//! Watchkeeper: Kubernetes clients, informers and controllers for Rust.
//!
//! This crate re-exports the parts, each of which can also be used on its own.
//!
//! | module | contents |
//! |---|---|
//! | [`core`] | shared types: object keys, resource versions, kinds, selectors, statuses, watch events, the `ListWatch` trait |
//! | [`wire`] | encodings: JSON and protobuf lists, watch frames, metadata, field pruning, transcoding, typed decoding |
//! | [`client`] | kubeconfig, credentials, transport, REST requests, discovery, typed and dynamic clients, exec and logs |
//! | [`cache`] | informers: an indexed local copy of a collection, typed readers, event handlers |
//! | [`workqueue`] | a rate-limited work queue: no key is processed twice at once; delays, backoff, priorities |
//! | [`controller`] | reconcile loops over informers and the work queue; manager, leader election, finalizers, events |
//! | [`metrics`] | counters, gauges and histograms in the Prometheus text format |
//! | [`apiserver`] | an in-memory API server, used in process or over the network |
//! | [`cluster`] | built-in controllers, a scheduler and simulated nodes for that server |
//! | `etcd` | an etcd client, and informers over an etcd prefix. Feature `etcd`, off by default |
//! | `kinds` | every built-in kind as a Rust type: `Api<K>` and the `ClientSet`. Feature `kinds`, off by default since the types take long to compile |
//!
//! ```
//! use watchkeeper::core::{HeadBuilder, LabelSelector};
//! use watchkeeper::wire::{Annotations, json};
//!
//! let pod = br#"{"metadata":{"name":"web-0","namespace":"shop","labels":{"app":"web"}},"spec":{}}"#;
//! let head = json::read_head(pod, Annotations::Skip, &mut HeadBuilder::default())?;
//! let selector: LabelSelector = "app in (web, api), !canary".parse()?;
//! assert!(selector.matches(|key| head.label(key)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use watchkeeper_apiserver as apiserver;
pub use watchkeeper_cache as cache;
pub use watchkeeper_client as client;
pub use watchkeeper_cluster as cluster;
pub use watchkeeper_controller as controller;
pub use watchkeeper_core as core;
#[cfg(feature = "etcd")]
pub use watchkeeper_etcd as etcd;
#[cfg(feature = "kinds")]
pub use watchkeeper_kinds as kinds;
pub use watchkeeper_metrics as metrics;
pub use watchkeeper_wire as wire;
pub use watchkeeper_workqueue as workqueue;

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
