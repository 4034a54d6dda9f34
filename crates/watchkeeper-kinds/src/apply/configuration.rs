//! Apply types and their kinds.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::extract::{self, ExtractError};

/// An apply configuration for the objects of a kind.
///
/// All apply types of this module implement it. For your own kind, implement it manually:
///
/// ```
/// use watchkeeper_kinds::apply::meta::v1::ObjectMetaApply;
/// use watchkeeper_kinds::apply::{ApiVersionOf, ApplyConfiguration, KindOf};
/// # use watchkeeper_kinds::api::core::v1::ConfigMap as Widget;
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an apply configuration",
    label = "expected an apply type such as `DeploymentApply`",
    note = "apply types are in `watchkeeper_kinds::apply`; `apply_object` applies any serializable object"
)]
pub trait ApplyConfiguration: Serialize {
    /// The kind.
    type Kind;

    /// Extracts what a manager has applied, to modify and apply it again: the name, the namespace and the fields
    /// that the manager owns according to the object's `managedFields`. `subresource` is where it applied them, such
    /// as `status`, or empty for the object itself.
    ///
    /// For a manager that owns nothing, the result has only name and namespace. The object needs its
    /// `managedFields`, which informers prune unless their
    /// [options](watchkeeper_client::source::RestListWatchFactory::read_options) keep them. If a manager has applied an empty struct or
    /// map and others have added to it, their fields are included: `managedFields` does not distinguish the two.
    ///
    /// # Errors
    /// If the object has no `managedFields`, the fields of a manager are invalid, or the object does not match the
    /// type.
    fn extract(object: &Self::Kind, manager: &str, subresource: &str) -> Result<Self, ExtractError>
    where
        Self: DeserializeOwned,
        Self::Kind: Serialize,
    {
        extract::extract(object, manager, subresource)
    }
}

/// Implements [`ApplyConfiguration`] and a constructor for a generated type. The objects of a kind that is only used
/// by subresources are namespaced.
macro_rules! kind {
    (namespaced, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind; name, namespace);
    };
    (subresource, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind; name, namespace);
    };
    (cluster, $apply:ident, $kind:ty) => {
        crate::apply::kind!($apply, $kind; name);
    };
    ($apply:ident, $kind:ty; $($part:ident),+) => {
        impl crate::apply::ApplyConfiguration for $apply {
            type Kind = $kind;
        }

        impl $apply {
            /// Creates an empty configuration for an object.
            pub fn new($($part: &str),+) -> Self {
                let metadata = crate::apply::meta::v1::ObjectMetaApply {
                    $($part: Some($part.to_owned()),)+
                    ..Default::default()
                };
                Self { metadata: Some(metadata), ..Default::default() }
            }
        }
    };
}

pub(super) use kind;
