//! A Kubernetes cluster for tests, in one line.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//! use watchkeeper_testkit::TestCluster;
//!
//! let cluster = TestCluster::start().await?;
//!
//! let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
//! let stored = cluster.create(settings).await?;
//! assert_eq!(stored["metadata"]["namespace"], cluster.namespace());
//!
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! It is an API server of this process with TLS on a port of its own, a namespace that nobody else has,
//! and a kubeconfig file that only its owner can read and whose context is that namespace. There is
//! nothing to install and nothing to wait for, so that every test can have its own. There are no nodes:
//! pods stay pending, unless the test says otherwise in their status. What asks for logs, runs programs in
//! pods or forwards their ports has a [`Kubelet`] to speak with.
//!
//! # Any client
//!
//! What reads a kubeconfig is a client: kubectl, a program that is tested from outside, a library.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::process::Command;
//! use watchkeeper_testkit::TestCluster;
//!
//! let cluster = TestCluster::start().await?;
//! let mut kubectl = Command::new("kubectl");
//! kubectl.args(["create", "configmap", "settings"]).env("KUBECONFIG", cluster.kubeconfig_path());
//! // The server is of this process: whoever waits must not keep its threads from it.
//! let status = tokio::task::spawn_blocking(move || kubectl.status()).await??;
//! assert!(status.success());
//! assert!(cluster.object("v1", "ConfigMap", "settings").await?.is_some());
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! With kube-rs:
//!
//! ```text
//! let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path())?;
//! let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
//! let client = kube::Client::try_from(config)?;
//! let pods: kube::Api<Pod> = kube::Api::default_namespaced(client); // the fresh namespace
//! ```
//!
//! # What goes wrong
//!
//! [`TestCluster::faults`] has answers fail, watches break off or stall, and versions expire: see
//! [`watchkeeper_apiserver::faults`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_testkit::{Fault, TestCluster, Verb};
//!
//! let cluster = TestCluster::start().await?;
//! let cut = cluster.faults().add(Fault::on(Verb::Watch).resource("pods").cut().times(1));
//! // ... start what is tested, and wait until it has suffered:
//! // cut.happened(1).await;
//! # assert_eq!(cut.hits(), 0);
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! What goes wrong on the way, connection by connection - refused, reset, cut off, silent, slow - is said to
//! a [`FaultProxy`] before the server.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_testkit::{FaultProxy, TestCluster, Trouble, Way};
//!
//! let cluster = TestCluster::start().await?;
//! let proxy = FaultProxy::start(cluster.server().address()).await?;
//! let kubeconfig = cluster.kubeconfig_through(&proxy).await?;
//! // ... start what is tested with this kubeconfig, and wait until it is connected:
//! // proxy.connections_made(1).await;
//!
//! proxy.now(Trouble::stall(Way::Both)); // the other end has lost its power
//! // ... it must notice, and connect again.
//! proxy.to_come(Trouble::reset().after(4096).times(1)); // and be cut off within the first answer
//! proxy.refuse().await?; // and then nobody is there ...
//! proxy.accept().await?; // ... for some time
//! # assert!(kubeconfig.exists());
//! proxy.stop().await;
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Without a server
//!
//! A [`script`] answers lists and watches as a test has written it down, and notes what it was asked: for what no
//! server does on demand.
//!
//! # Without async
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_testkit::TestCluster;
//!
//! let cluster = TestCluster::blocking()?;
//! println!("KUBECONFIG={}", cluster.kubeconfig_path().display());
//! cluster.stop();
//! # Ok(())
//! # }
//! ```

mod blocking;
mod cluster;
mod fault_proxy;
pub mod kubelet;
mod objects;
pub mod script;

pub use blocking::BlockingCluster;
pub use cluster::{ClusterError, TestCluster};
pub use fault_proxy::{Counts, FaultProxy, Trouble, Way};
pub use kubelet::Kubelet;
pub use watchkeeper_apiserver::faults::{Fault, Requests};
pub use watchkeeper_apiserver::http::Verb;
