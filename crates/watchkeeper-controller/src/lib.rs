//! Controllers: bring the actual state of a cluster closer to the desired state, one object at a time.
//!
//! Input: [informers](watchkeeper_cache::Informer) of the primary objects and of the objects related to them.
//! Output: calls of a reconcile function with the key of each primary object that may need work.
//!
//! Invariants:
//! - `controller.C1`: the function never runs twice at once for the same key.
//! - `controller.C2`: after every change of a key the function runs until it succeeds; changes that arrive
//!   before a call starts share that call.
//! - `controller.C3`: the function does not run before all informers have their first list, nor with a cache
//!   older than what it has written for the same key.
//! - `controller.C4`: a call that fails, panics or times out is retried with exponential backoff; one that
//!   fails with a [terminal](TerminalError) error is not retried until something changes.
//!
//! A [`Manager`] starts, supervises and stops several controllers, optionally behind [leader
//! election](leader). A [`Finalizer`] cleans up before an object is deleted, and an
//! [`EventRecorder`](events::EventRecorder) publishes events.
//!
//! ```no_run
//! # async fn example(server: impl watchkeeper_core::ListWatchFactory + 'static) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use serde_json::Value;
//! use watchkeeper_cache::InformerFactory;
//! use watchkeeper_controller::{Action, Controller};
//! use watchkeeper_core::Collection;
//!
//! let factory = InformerFactory::new(server);
//! let shops = factory.informer(&Collection::new("example.com", "v1", "shops", "Shop"));
//! let deployments = factory.informer(&Collection::DEPLOYMENTS);
//! factory.start();
//!
//! let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! let controller = Controller::new("shops", &shops).owns(&deployments);
//! let context = Arc::new("shared by all calls");
//! controller.run(|shop: Arc<Value>, context| async move {
//!     println!("reconciling {}: {context}", shop["metadata"]["name"]);
//!     Ok(Action::await_change())
//! }, context, stop).await;
//! # Ok(())
//! # }
//! ```

mod controller;
pub mod events;
mod expectations;
mod finalizer;
pub mod leader;
pub mod manager;
pub mod mapping;
mod metrics;
mod outcome;
pub mod predicate;
mod random;
mod request;
mod trigger;
mod worker;

pub use controller::Controller;
pub use finalizer::{Finalizer, Finalizing};
pub use manager::{Manager, ManagerError};
pub use outcome::{Action, Error, TerminalError};
pub use request::{FromRequest, Request};
