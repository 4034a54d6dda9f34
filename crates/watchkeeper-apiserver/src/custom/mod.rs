//! Custom resources: kinds that come with a definition, and not with the server.
//!
//! From: the CustomResourceDefinitions in the store, whoever wrote them.
//! To:   rows of the [registry](crate::registry), each with its [`CustomKind`]: what is generic code for
//!       built-in kinds is for these, too.
//!
//! - C1: when a write of a definition has been answered, what it defines is served, and no sooner does its
//!   status say so.
//! - C2: two definitions of a group never share a name: who was first has it until it goes.
//! - C3: a definition goes after its objects, and these after whatever holds them.

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
