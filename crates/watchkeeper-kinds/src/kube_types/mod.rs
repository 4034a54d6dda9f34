//! Types of k8s-openapi and kube-rs as [`Resource`]s, and conversions to and from k8s-openapi.

mod generated;

use std::borrow::Cow;

use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use watchkeeper_wire::typed::Message;

use crate::{ClusterScoped, Namespaced, Resource, Scope};

/// A scope of k8s-openapi.
pub trait KubeScope {
    /// The same scope here.
    type Scope: Scope;
}

impl KubeScope for NamespaceResourceScope {
    type Scope = Namespaced;
}

impl KubeScope for ClusterResourceScope {
    type Scope = ClusterScoped;
}

/// The types of k8s-openapi, and types with kube-rs's `#[derive(CustomResource)]`.
impl<K: kube_core::Resource<DynamicType = (), Scope: KubeScope>> Resource for K {
    type Scope = <K::Scope as KubeScope>::Scope;

    fn group() -> Cow<'static, str> {
        <K as kube_core::Resource>::group(&())
    }

    fn version() -> Cow<'static, str> {
        <K as kube_core::Resource>::version(&())
    }

    fn kind() -> Cow<'static, str> {
        <K as kube_core::Resource>::kind(&())
    }

    fn plural() -> Cow<'static, str> {
        <K as kube_core::Resource>::plural(&())
    }
}

/// An object cannot be converted between [`api`](crate::api) and k8s-openapi: a quantity is invalid, or a time is out of
/// the range of the other type.
#[derive(Debug, thiserror::Error)]
#[error("failed to convert {kind}")]
pub struct ConversionError {
    kind: &'static str,
    source: serde_json::Error,
}

/// Implements the conversions of all kinds.
macro_rules! convert {
    ($($ours:ty => $theirs:ty;)*) => {$(
        impl TryFrom<$ours> for $theirs {
            type Error = crate::ConversionError;

            fn try_from(object: $ours) -> Result<Self, crate::ConversionError> {
                crate::kube_types::through_json::<$ours, _>(&object)
            }
        }

        impl TryFrom<$theirs> for $ours {
            type Error = crate::ConversionError;

            fn try_from(object: $theirs) -> Result<Self, crate::ConversionError> {
                crate::kube_types::through_json::<$ours, _>(&object)
            }
        }
    )*};
}

use convert;

/// Converts an object through JSON, which is the same for both types.
fn through_json<K: Message, T: DeserializeOwned>(object: &impl Serialize) -> Result<T, ConversionError> {
    let failed = |source| ConversionError { kind: K::NAME, source };
    let json = serde_json::to_vec(object).map_err(failed)?;
    serde_json::from_slice(&json).map_err(failed)
}
