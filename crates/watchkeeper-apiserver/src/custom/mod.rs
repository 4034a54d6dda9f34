//! Custom resources: kinds that are defined by CustomResourceDefinitions.
//!
//! Input: the CustomResourceDefinitions in the store.
//! Output: rows of the [registry](crate::registry), each with its [`CustomKind`]; they are served by the code that serves
//! built-in kinds.
//!
//! Invariants:
//! - `custom.C1`: when a write of a definition returns, its resource is served; its status says so only then.
//! - `custom.C2`: no two definitions of a group share a name. The first keeps it until it is deleted.
//! - `custom.C3`: a definition is removed after its objects, and these after their finalizers.

mod cleanup;
mod definition;
mod definitions;
mod kind;
mod names;
mod rows;
mod scale;
pub mod schema;
mod status;
mod version_order;

pub(crate) use definition::CLEANUP;
pub use definitions::Definitions;
pub use kind::CustomKind;
pub(crate) use scale::ReplicaPaths;
pub(crate) use status::terminating;
