//! An operator to start from: a custom resource with an owned deployment, an object it cannot own, status and events.
//!
//! Input: a [`Website`]: an image, a number of replicas, and a message.
//! Output: a [deployment](mod@deployment) that it owns, a registration in the [registry] of another namespace, and its
//! [status](WebsiteStatus).
//!
//! | file | shows |
//! |---|---|
//! | `website` | a custom resource as a Rust type, with schema, columns and scale |
//! | `informers` | what the caches keep |
//! | `install` | applying the definition, and waiting for it |
//! | `reconcile` | the controller and its reconcile function: finalizer, owned objects, status |
//! | `deployment`, `registry` | server-side apply of the fields the operator manages |
//! | `ensure` | writing only what differs |
//! | `status` | a status that equals the previous one if nothing has changed |
//! | `main` | the process: leader election, health, metrics, signals |

pub mod deployment;
mod ensure;
mod informers;
mod install;
mod reconcile;
pub mod registry;
mod status;
pub mod website;

pub use ensure::MANAGER;
pub use informers::informers;
pub use install::install;
pub use reconcile::{Context, FINALIZER, controller, reconcile};
pub use status::status;
pub use website::{Website, WebsiteSpec, WebsiteStatus};
