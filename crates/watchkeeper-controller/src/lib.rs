//! Controllers: programs that bring what is towards what is wanted, one object at a time.
//!
//! From: [informers](watchkeeper_cache::Informer) of the objects that say what is wanted, and of those that say
//!       what is.
//! To:   a function that is called with the key of whatever may be out of order.
//!
//! - C1: the function is never called twice at once for one key.
//! - C2: it is called after every change, or after several at once, until it has succeeded since the last of them.
//! - C3: it is not called before all informers have their first list, nor with a cache that is older than what it
//!   has [written](Request::wrote) for this key before.
//! - C4: a call that fails, panics or takes too long is repeated after a while that grows; one that fails
//!   [for good](Failure::terminal) is not, before something changes.
//!
//! Several controllers are begun, watched over and ended by a [`Manager`], which can wait to [lead](leader). What is
//! to be cleaned up before an object goes is for a [`Finalizer`], and what people should know for a
//! [`Recorder`](events::Recorder).
//!
//! ```no_run
//! # async fn example(server: impl watchkeeper_core::Sources + 'static) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_cache::InformerFactory;
//! use watchkeeper_controller::{Action, Controller, Failure, Request};
//! use watchkeeper_core::Collection;
//!
//! let factory = InformerFactory::new(server);
//! let shops = factory.informer(&Collection::new("example.com", "v1", "shops", "Shop"));
//! let deployments = factory.informer(&Collection::DEPLOYMENTS);
//! factory.start();
//!
//! let controller = Controller::new("shops", &shops).owns(&deployments);
//! let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! controller.run(|request: Request| async move {
//!     println!("{} may be out of order", request.key());
//!     Ok::<_, Failure>(Action::Done)
//! }, stop).await;
//! # Ok(())
//! # }
//! ```

mod controller;
pub mod events;
mod finalizer;
pub mod leader;
pub mod manager;
mod mapping;
mod metrics;
mod outcome;
pub mod predicate;
mod random;
mod request;
mod trigger;
mod worker;
mod written;

pub use controller::Controller;
pub use finalizer::{Finalizer, Finalizing};
pub use manager::{Manager, ManagerError};
pub use outcome::{Action, Failure};
pub use request::{Reconcile, Request};
