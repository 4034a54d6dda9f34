//! Configuration: an apply type and the kind that it is for.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::extract::{self, ExtractError};

/// What can be applied to the objects of a kind.
///
/// All apply types of this module are; for a kind of one's own it is implemented by hand:
///
/// ```
/// use watchkeeper_kinds::apply::meta::v1::ObjectMetaApply;
/// use watchkeeper_kinds::apply::{ApiVersionOf, ApplyConfiguration, KindOf};
/// # use watchkeeper_kinds::k8s_openapi::api::core::v1::ConfigMap as Widget;
///
/// #[derive(Default, serde::Serialize)]
/// #[serde(rename_all = "camelCase")]
/// struct WidgetApply {
///     api_version: ApiVersionOf<Widget>,
///     kind: KindOf<Widget>,
///     metadata: ObjectMetaApply,
///     #[serde(skip_serializing_if = "Option::is_none")]
///     size: Option<u32>,
/// }
///
/// impl ApplyConfiguration for WidgetApply {
///     type Kind = Widget;
/// }
/// ```
pub trait ApplyConfiguration: Serialize {
    /// The kind.
    type Kind;

    /// What a manager has applied of an object, to be changed and applied again: its name and namespace,
    /// and the values of the fields that are the manager's by the object's `managedFields`. `subresource` is
    /// where it has applied them, such as `status`, and empty for the object itself.
    ///
    /// Of a manager that has applied nothing, or owns nothing any more, it is only name and namespace. The
    /// object must be as the server gave it: informers cut `managedFields` out unless their
    /// [intake](watchkeeper_client::source::RestSources::intake) keeps them. Where a manager has applied an empty struct or map and others
    /// have filled it since, what they wrote is taken for the manager's: the object does not tell the two.
    ///
    /// # Errors
    /// If the object has no `managedFields`, if the fields of a manager cannot be read, or if the object does not fit
    /// the type.
    fn extract(object: &Self::Kind, manager: &str, subresource: &str) -> Result<Self, ExtractError>
    where
        Self: DeserializeOwned,
        Self::Kind: Serialize,
    {
        extract::extract(object, manager, subresource)
    }
}

/// Makes a generated type the apply type of a kind, which is in a namespace or not. A kind that is only a
/// subresource's is of objects that are in one.
macro_rules! kind {
    (namespaced, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind, NamespaceResourceScope, name, namespace);
    };
    (subresource, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind, SubResourceScope, name, namespace);
    };
    (cluster, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind, ClusterResourceScope, name);
    };
    ($apply:ident, $kind:ty, $scope:ident, $($place:ident),+) => {
        impl crate::apply::ApplyConfiguration for $apply {
            type Kind = $kind;
        }

        impl $apply {
            /// Nothing yet, of the object that is there.
            pub fn new($($place: &str),+) -> Self
            where
                $kind: k8s_openapi::Resource<Scope = k8s_openapi::$scope>,
            {
                let metadata = crate::apply::meta::v1::ObjectMetaApply {
                    $($place: Some($place.to_owned()),)+
                    ..Default::default()
                };
                Self { metadata: Some(metadata), ..Default::default() }
            }
        }
    };
}

pub(super) use kind;
