//! Typed clients and informers for built-in kinds and custom resources.
//!
//! Input: an untyped [`Client`].
//! Output: typed objects such as [`Pod`](api::core::v1::Pod).
//!
//! [`ClientSet`] has a method for every built-in resource, [`Api`] works with any type, and
//! [`TypedFactory`] has the informers for both.
//!
//! The types in [`api`] are compact: optional structs are boxed, short strings are inline, and longer ones are shared
//! between objects. Fields are as in Go: a field whose absence means the same as zero is not an option.
//!
//! ```
//! use watchkeeper_kinds::api::core::v1::{Container, Pod, PodSpec};
//!
//! let nginx = Container::default().with_name("web").with_image("nginx");
//! let mut pod = Pod::new("web-0", "shop").with_spec(PodSpec::default().with_containers([nginx]));
//! pod.metadata.labels.insert("app", "web");
//! assert_eq!(pod.spec.containers[0].image, "nginx");
//! assert_eq!(serde_json::to_value(&pod)?["metadata"]["labels"]["app"], "web");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! With the feature `k8s-openapi`, types of k8s-openapi and types with kube-rs's `#[derive(CustomResource)]` are accepted
//! too, and the types of [`api`] convert to and from those of k8s-openapi.
//!
//! [`DynamicObject`](watchkeeper_client::dynamic::DynamicObject) converts to and from a type:
//!
//! ```
//! use watchkeeper_client::dynamic::DynamicObject;
//! use watchkeeper_kinds::api::core::v1::Pod;
//!
//! let mut object = DynamicObject::new("v1", "Pod", "web-0");
//! object.set(&["spec"], serde_json::json!({"containers": [{"name": "web", "image": "nginx"}]}));
//!
//! let mut pod: Pod = object.to_typed()?;
//! assert_eq!(pod.spec.containers[0].image, "nginx");
//! pod.spec.containers[0].image = "nginx:1.29".into();
//!
//! let object = DynamicObject::from_typed(&pod)?;
//! assert_eq!((object.kind(), object.name()), ("Pod", "web-0"));
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod api;
pub mod apply;
mod clientset;
mod collection;
mod factory;
#[cfg(feature = "kube")]
mod kube;
#[cfg(feature = "k8s-openapi")]
mod kube_types;
mod message;
mod resource;
mod selector;
mod subresources;
mod typed_api;

pub use clientset::*;
pub use collection::CollectionExt;
pub use factory::*;
#[cfg(feature = "k8s-openapi")]
pub use k8s_openapi;
#[cfg(feature = "kube")]
pub use kube::kube_client;
#[cfg(feature = "k8s-openapi")]
pub use kube_core;
#[cfg(feature = "k8s-openapi")]
pub use kube_types::{ConversionError, KubeScope};
pub use resource::{ClusterScoped, Namespaced, Object, PartialObjectMetadata, Resource, Scope};
pub use selector::AsSelector;
pub use subresources::Scaled;
pub use typed_api::Api;
pub use watchkeeper_client::Client;
pub use watchkeeper_wire::typed::{
    ByteString, IntOrString, Map, MicroTime, OrArray, OrBool, OrStrings, Quantity, QuantityError, RawJson,
    Str, Strings, Time,
};
