//! An embedded Kubernetes-compatible API server, in process or over the wire.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_apiserver::server::ApiServer;
//!
//! let server = ApiServer::builder().start().await?; // TLS on a free port of the loopback, in memory
//! println!("{}\n{}", server.url(), server.kubeconfig().render());
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`server`] | the whole: a builder, and a handle that stops it |
//! | [`api`] | which part answers a request |
//! | [`read`] | get, list and watch |
//! | [`write`](mod@write) | create, update, patch and delete |
//! | [`defaults`] | what the fields of an object are when nobody sets them |
//! | `validate` | which objects may be stored |
//! | [`store`] | objects as bytes under one revision counter, with watches; in memory, or in a directory too |
//! | [`registry`] | what is served, as rows: resources, verbs, subresources, field selectors |
//! | [`custom`] | kinds that come with a definition: what they add to the registry, and their schemas |
//! | [`discovery`] | the documents by which clients find the resources |
//! | [`print`](mod@print) | the tables that `kubectl get` shows |
//! | [`patch`] | JSON, merge and strategic merge patches |
//! | [`apply`] | who owns which fields, and server-side apply |
//! | [`http`] | listening, TLS, who is asking, what for, and in which encoding |
//! | `kubelet` | requests that only the node of a pod can answer |
//! | [`size`] | how large an object may be in a request and in the store |
//! | [`expiry`] | events that have had their time |
//! | [`faults`] | what goes wrong when a test says so: answers, cuts, stalls, compactions |
//!
//! There are no controllers here but the one that makes custom resources of definitions: a namespace that is
//! deleted stays in `Terminating` until somebody finalizes it. Versions of custom resources are converted by
//! their `apiVersion` alone; no webhook is called.

mod accounts;
pub mod api;
pub mod apply;
mod clock;
mod convert;
pub mod custom;
pub mod defaults;
pub mod discovery;
pub mod expiry;
pub mod faults;
mod first_objects;
pub mod http;
mod keyring;
mod kubelet;
pub mod patch;
pub mod print;
pub mod read;
pub mod registry;
pub mod server;
pub mod size;
pub mod store;
mod validate;
pub mod write;
