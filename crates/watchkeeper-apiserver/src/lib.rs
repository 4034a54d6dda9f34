//! An embedded Kubernetes-compatible API server, in process or over the network.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_apiserver::server::ApiServer;
//!
//! let server = ApiServer::builder().start().await?; // in memory, with TLS on a free loopback port
//! println!("{}\n{}", server.url(), server.kubeconfig().render());
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`server`] | the server: a builder, and a handle to the running server |
//! | [`api`] | routing of requests |
//! | [`read`] | get, list and watch |
//! | [`write`](mod@write) | create, update, patch and delete |
//! | [`defaults`] | default values of fields |
//! | `rules` | what the server does for each kind, a module per kind |
//! | [`admission`] | plugins that complete or refuse a write |
//! | `validate` | validation of objects |
//! | [`store`] | versioned objects with watches, in memory or on disk: the crate `watchkeeper-store` |
//! | [`registry`] | a table of the served resources, with their verbs, subresources and field selectors |
//! | [`custom`] | custom resources: their registry rows and schemas |
//! | [`discovery`] | discovery and OpenAPI documents |
//! | [`print`](mod@print) | server-side printing: the tables of `kubectl get` |
//! | [`patch`] | JSON, merge and strategic merge patches |
//! | [`apply`] | server-side apply and field ownership |
//! | [`http`] | HTTP: TLS, authentication, request parsing, encodings, responses |
//! | `kubelet` | the client for kubelets |
//! | [`size`] | size limits of requests and stored objects |
//! | [`expiry`] | expiry of events |
//! | [`faults`] | fault injection: errors, delays, cut and stalled responses, compactions |
//!
//! The only controller here is the one that serves custom resources: a namespace that is deleted stays in
//! `Terminating` until a client finalizes it. Versions of custom resources are converted by changing their
//! `apiVersion`; conversion webhooks are not called.

mod accounts;
pub mod admission;
pub mod api;
pub mod apply;
mod clock;
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
mod rules;
pub mod server;
pub mod size;
mod validate;
pub mod write;

pub use watchkeeper_store as store;
