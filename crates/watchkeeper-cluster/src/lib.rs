//! The controllers, scheduler and simulated nodes that turn an API server into a cluster.
//!
//! Input: an API server, embedded or remote.
//! Output: the objects that Kubernetes' own components would create: service accounts, pods of deployments,
//! bindings, endpoints.
//!
//! Every controller is written as a user would write it: with [`watchkeeper_controller`], one shared informer
//! factory, and the ordinary client.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_apiserver::server::ApiServer;
//! use watchkeeper_cluster::Cluster;
//!
//! let server = ApiServer::builder().start().await?;
//! let cluster = Cluster::builder().start(&server).await?;
//! cluster.stop().await;
//! server.stop().await;
//! # Ok(())
//! # }
//! ```

mod accounts;
mod claim;
mod clock;
mod cluster;
mod context;
mod deployment;
mod endpoints;
mod garbage;
mod in_every_namespace;
mod jitter;
mod kubelet;
mod namespace;
mod nodes;
mod timings;

mod protection;
mod replica_set;
mod resource;
mod root_ca;
mod scheduler;
mod updater;
mod view;

pub use cluster::{Builder, Cluster, StartError, UnknownNode, config};
pub use kubelet::Script;
pub use timings::Timings;
