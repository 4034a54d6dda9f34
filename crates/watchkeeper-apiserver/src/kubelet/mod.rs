//! Kubelets: whom a request goes to that only a pod's node can answer.
//!
//! From: [`api`](crate::api), which has found the pod, its container and its node.
//! To:   the kubelet of that node, over TLS and HTTP/1.1, a connection a request.
//!
//! - N1: nothing runs besides the request: whoever drops an answer, or what became of a connection, closes
//!   the connection to the kubelet.
//! - N2: what a kubelet answers to an upgrade goes to the client as it is; the bytes after it are nobody's
//!   business, so that a client and a kubelet may agree on whatever they like.
//!
//! As a real server by default, this one does not ask who vouches for a kubelet, and says who it is itself.

mod answer;
mod dial;
mod location;
mod relay;

pub(crate) use answer::{KubeletError, is_answer};
pub(crate) use dial::Kubelets;
pub(crate) use location::{Location, Place};
pub(crate) use relay::{Switched, is_upgrade, relay};
