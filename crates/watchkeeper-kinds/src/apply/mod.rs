//! Apply configurations for server-side apply, as client-go's `applyconfigurations`.
//!
//! Input: the fields that a manager wants to own.
//! Output: the argument of [`Api::apply`](crate::Api::apply) and [`Api::apply_status`](crate::Api::apply_status).
//!
//! Applying an object makes the manager the owner of every field in it. The types of [`api`](crate::api) cannot omit
//! some fields, such as `containers`. In the types of this module every field is an option, and `None` is not
//! sent. They are generated from the schema tables, and named as in [`api`](crate::api) with the suffix `Apply`.
//!
//! - `apply.A1`: an apply type always has the kind and version that it is for.
//! - `apply.A2`: fields have the same names as in [`api`](crate::api), in Rust and in JSON.
//!
//! ```no_run
//! # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_client::resource::ApplyOptions;
//! use watchkeeper_kinds::Api;
//! use watchkeeper_kinds::apply::ApplyConfiguration;
//! use watchkeeper_kinds::apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
//! use watchkeeper_kinds::api::apps::v1::Deployment;
//!
//! let scaled = DeploymentApply {
//!     spec: Some(DeploymentSpecApply { replicas: Some(3), ..Default::default() }),
//!     ..DeploymentApply::new("web", "shop")
//! };
//! let options = ApplyOptions::new("scaler");
//! let deployments = Api::<Deployment>::namespaced(&client, "shop");
//! let deployment = deployments.apply(&scaled, &options).await?;
//!
//! // The fields of this manager are those that it applied.
//! assert_eq!(DeploymentApply::extract(&deployment, "scaler", "")?, scaled);
//! # Ok(())
//! # }
//! ```
//!
//! An `Api` only accepts apply types of its kind:
//!
//! ```compile_fail,E0271
//! # async fn example(
//! #     pods: watchkeeper_kinds::Api<watchkeeper_kinds::api::core::v1::Pod>,
//! #     options: watchkeeper_client::resource::ApplyOptions,
//! # ) {
//! use watchkeeper_kinds::apply::core::v1::NodeApply;
//!
//! pods.apply(&NodeApply::new("node-1"), &options).await;
//! # }
//! ```

mod configuration;
mod extract;
mod metadata;
mod type_meta;
mod types;
mod verbs;

pub use configuration::ApplyConfiguration;
pub use extract::ExtractError;
pub use type_meta::{ApiVersionOf, KindOf};
pub use types::*;

use configuration::kind;
