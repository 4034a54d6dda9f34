//! Typed clients and informers for built-in kinds and custom resources.
//!
//! Input: an untyped [`Client`].
//! Output: typed objects such as [`Pod`](k8s_openapi::api::core::v1::Pod).
//!
//! [`ClientSet`] has a method for every built-in resource, [`Api`] works with any type, and
//! [`TypedFactory`] has the informers for both.
//! [`DynamicObject`](watchkeeper_client::dynamic::DynamicObject) converts to and from a type:
//!
//! ```
//! use watchkeeper_client::dynamic::DynamicObject;
//! use watchkeeper_kinds::k8s_openapi::api::core::v1::Pod;
//!
//! let mut object = DynamicObject::new("v1", "Pod", "web-0");
//! object.set(&["spec"], serde_json::json!({"containers": [{"name": "web", "image": "nginx"}]}));
//!
//! let mut pod: Pod = object.to_typed()?;
//! let containers = &mut pod.spec.as_mut().expect("set above").containers;
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
mod collection;
mod factory;
#[cfg(feature = "kube")]
mod kube;
mod selector;
mod subresources;

pub use api::Api;
pub use clientset::*;
pub use collection::CollectionExt;
pub use factory::*;
pub use k8s_openapi;
#[cfg(feature = "kube")]
pub use kube::kube_client;
pub use kube_core;
pub use selector::AsSelector;
pub use subresources::Scaled;
pub use watchkeeper_client::Client;
