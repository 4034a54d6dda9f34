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
//! A test cluster is an in-process API server with TLS on a free port, a unique namespace, and a kubeconfig (mode
//! 0600) whose context is that namespace. There is nothing to install and nothing to wait for, so that every test can
//! have its own. There are no nodes: pods stay pending unless the test changes their status. For logs, exec, attach
//! and port forwarding there is a [`Kubelet`].
//!
//! # Any client
//!
//! Any client that reads a kubeconfig works: kubectl, a program under test, a library.
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
//! // The server runs in this process: do not block its threads.
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
//! let pods: kube::Api<Pod> = kube::Api::default_namespaced(client); // the cluster's namespace
//! ```
//!
//! # Fault injection
//!
//! [`TestCluster::faults`] makes requests fail, watches break off or stall, and versions expire: see
//! [`watchkeeper_apiserver::faults`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_testkit::{Fault, TestCluster, Verb};
//!
//! let cluster = TestCluster::start().await?;
//! let cut = cluster.faults().add(Fault::on(Verb::Watch).resource("pods").cut().times(1));
//! // ... start the code under test, and wait until the fault was injected:
//! // cut.happened(1).await;
//! # assert_eq!(cut.hits(), 0);
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`FaultProxy`] in front of the server makes connections fail: refused, reset, cut off, silent or slow.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_testkit::{FaultProxy, TestCluster, NetworkFault, Direction};
//!
//! let cluster = TestCluster::start().await?;
//! let proxy = FaultProxy::start(cluster.server().address()).await?;
//! let kubeconfig = cluster.kubeconfig_through(&proxy).await?;
//! // ... start the code under test with this kubeconfig, and wait until it is connected:
//! // proxy.connected(1).await;
//!
//! proxy.inject(NetworkFault::stall(Direction::Both)); // as if the server had lost power
//! // ... it has to detect that, and reconnect.
//! proxy.inject_on_connect(NetworkFault::reset().after(4096).times(1)); // during the first response
//! proxy.refuse().await?; // refuses connections ...
//! proxy.accept().await?; // ... until now
//! # assert!(kubeconfig.exists());
//! proxy.stop().await;
//! cluster.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Without a server
//!
//! A [`script`] is a list/watch source with scripted responses that records requests, for what no server does on
//! demand.
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
pub use fault_proxy::{Counts, Direction, FaultProxy, NetworkFault};
pub use kubelet::Kubelet;
pub use watchkeeper_apiserver::faults::{Fault, Requests};
pub use watchkeeper_apiserver::http::Verb;
