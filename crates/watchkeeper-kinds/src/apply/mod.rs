//! Apply: what a manager wants of an object, and nothing else.
//!
//! From: programs that know which fields are theirs.
//! To:   [`Api::apply`](crate::Api::apply) and [`Api::apply_status`](crate::Api::apply_status).
//!
//! Whoever applies an object owns every field that it has. The types of [`k8s_openapi`] have fields that
//! they cannot leave out, such as `containers: []`, so what is applied has types of its own: every field of
//! a type of this module is an option, and what is `None` is not sent. They are generated from the same
//! tables as the codecs, and named as in [`k8s_openapi`], with `Apply` behind.
//!
//! - A1: what is applied says the kind and the version that its type is for; nothing else can be said.
//! - A2: fields have the names that they have in [`k8s_openapi`], in Rust and in JSON.
//!
//! ```no_run
//! # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_client::resource::ApplyOptions;
//! use watchkeeper_kinds::Api;
//! use watchkeeper_kinds::apply::ApplyConfiguration;
//! use watchkeeper_kinds::apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
//! use watchkeeper_kinds::k8s_openapi::api::apps::v1::Deployment;
//!
//! let scaled = DeploymentApply {
//!     spec: Some(DeploymentSpecApply { replicas: Some(3), ..Default::default() }),
//!     ..DeploymentApply::new("web", "shop")
//! };
//! let options = ApplyOptions { field_manager: "scaler".to_owned(), force: false, dry_run: false };
//! let deployments = Api::<Deployment>::namespaced(&client, "shop");
//! let deployment = deployments.apply(&scaled, &options).await?;
//!
//! // What this manager has a say in is what it applied.
//! assert_eq!(DeploymentApply::extract(&deployment, "scaler", "")?, scaled);
//! # Ok(())
//! # }
//! ```
//!
//! An `Api` takes only what is meant for its kind:
//!
//! ```compile_fail,E0271
//! # async fn example(
//! #     pods: watchkeeper_kinds::Api<k8s_openapi::api::core::v1::Pod>,
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
