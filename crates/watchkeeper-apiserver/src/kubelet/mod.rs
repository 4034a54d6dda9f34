//! Kubelet client: forwards requests that only the node of a pod can serve.
//!
//! Input: [`api`](crate::api), which has found the pod, its container and its node.
//! Output: the kubelet of that node, over TLS and HTTP/1.1, with one connection per request.
//!
//! Invariants:
//! - `kubelet.N1`: nothing runs outside the request: dropping a response or a switched connection closes the
//!   connection to the kubelet.
//! - `kubelet.N2`: the kubelet's response to an upgrade is passed to the client unchanged, and the bytes after it are
//!   relayed without interpretation, so that client and kubelet can agree on any protocol.
//!
//! Like kube-apiserver by default, the client does not verify the kubelet's certificate, and presents its own.

mod dial;
mod location;
mod relay;
mod response;

pub(crate) use dial::Kubelets;
pub(crate) use location::{KubeletAddress, Location};
pub(crate) use relay::{UpgradeOutcome, is_upgrade, relay};
pub(crate) use response::{KubeletError, is_success};
