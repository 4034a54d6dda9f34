//! Watchkeeper: Kubernetes list-watch for Rust.
//!
//! This crate is the front door: it re-exports the parts, each of which can be used alone.
//!
//! | module | what it has |
//! |---|---|
//! | [`core`] | the words: keys, versions, kinds, selectors, statuses, watch events, the list-watch seam |
//! | [`wire`] | the bytes: JSON and protobuf lists, watch frames, heads, cutting, transcoding, typed decode |
//! | [`client`] | any API server: kubeconfig, credentials, transport, REST requests, discovery, objects of any type, streams of pods |
//! | [`cache`] | informers: an indexed copy of what a server has, readers of any type, handlers of changes |
//! | [`workqueue`] | keys to work on: no key twice at once, delays, backoff, priorities |
//! | [`controller`] | reconcile loops over informers and the queue; a manager of several, leader election, finalizers, events |
//! | [`metrics`] | counters, gauges and histograms, and the page that Prometheus scrapes |
//! | [`apiserver`] | an API server in memory, in this process or over the wire |
//! | [`cluster`] | what makes it live: controllers, a scheduler, simulated nodes |
//! | `etcd` | a small etcd client, and informers over any prefix of an etcd. With the feature `etcd`, which is off by default |
//! | `kinds` | every built-in kind as its Rust type: `Api<K>` and the ClientSet. With the feature `kinds`, which is off by default: the types take long to compile |
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

/// The examples of the README compile, and do what they say.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
