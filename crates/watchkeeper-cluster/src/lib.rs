//! The living cluster: what makes an API server more than a store.
//!
//! From: a server, embedded or not.
//! To:   objects that lead to others: namespaces get their accounts, deployments their pods, pods their nodes.
//!
//! Every controller is written as a user would write it: on [`watchkeeper_controller`], over one shared factory of
//! informers, and with the same client.
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
mod chance;
mod claim;
mod clock;
mod cluster;
mod deployment;
mod endpoints;
mod garbage;
mod in_every_namespace;
mod kubelet;
mod namespace;
mod nodes;
mod pace;
mod plane;
mod protection;
mod replica_set;
mod resource;
mod root_ca;
mod scheduler;
mod telling;
mod view;
mod whole;

pub use cluster::{Builder, Cluster, StartError, UnknownNode, config};
pub use kubelet::Script;
pub use pace::Pace;
