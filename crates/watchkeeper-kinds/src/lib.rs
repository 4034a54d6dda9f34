//! The typed edge: every built-in kind, and one's own, as Rust types.
//!
//! From: a [`Client`], which knows no kind.
//! To:   programs that want a [`Pod`](k8s_openapi::api::core::v1::Pod) and not a tree of values.
//!
//! A [`ClientSet`] has every built-in resource by its name, an [`Api`] the objects of any type; a
//! [`TypedFactory`] has the informers of either. Of a
//! [`DynamicObject`](watchkeeper_client::dynamic::DynamicObject) a type can be made, and back:
//!
//! ```
//! use watchkeeper_client::dynamic::DynamicObject;
//! use watchkeeper_kinds::k8s_openapi::api::core::v1::Pod;
//!
//! let mut object = DynamicObject::new("v1", "Pod", "web-0");
//! object.set(&["spec"], serde_json::json!({"containers": [{"name": "web", "image": "nginx"}]}));
//!
//! let mut pod: Pod = object.to_typed()?;
//! let containers = &mut pod.spec.as_mut().expect("it has one").containers;
//! assert_eq!(containers[0].image.as_deref(), Some("nginx"));
//! containers[0].image = Some("nginx:1.29".to_owned());
//!
//! let object = DynamicObject::from_typed(&pod)?;
//! assert_eq!((object.kind(), object.name()), ("Pod", "web-0"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod api;
pub mod apply;
mod clientset;
mod factory;
#[cfg(feature = "kube")]
mod kube;
mod subresources;

pub use api::Api;
pub use clientset::*;
pub use factory::*;
pub use k8s_openapi;
#[cfg(feature = "kube")]
pub use kube::kube_client;
pub use kube_core;
pub use subresources::Scaled;
pub use watchkeeper_client::Client;

/// The snippets of the guides compile.
#[cfg(all(doctest, feature = "kube"))]
#[doc = include_str!("../../../docs/from-kube-rs.md")]
#[doc = include_str!("../../../docs/from-client-go.md")]
struct Guides;
