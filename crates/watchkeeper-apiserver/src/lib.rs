//! The parts of an embedded Kubernetes-compatible API server.
//!
//! | module | what it is |
//! |---|---|
//! | [`store`] | objects as bytes under one revision counter, with watches; in memory |
//! | [`registry`] | what is served, as rows: resources, verbs, subresources, field selectors |
//! | [`discovery`] | the documents by which clients find the resources |
//! | [`print`](mod@print) | the tables that `kubectl get` shows |
//! | [`patch`] | JSON, merge and strategic merge patches |
//! | [`http`] | listening, TLS, who is asking, what for, and in which encoding |
//!
//! What joins them, the handler that answers a request for a resource out of the store, is not built
//! yet.

pub mod discovery;
pub mod http;
pub mod patch;
pub mod print;
pub mod registry;
pub mod store;
