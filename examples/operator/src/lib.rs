//! An operator to copy: a custom resource, what it owns, what it does not own, its status and its events.
//!
//! From: a [`Website`], which says which image is to be run, how often, and what it is to say.
//! To:   a [deployment](mod@deployment) that it owns, a registration in the [registry], which it cannot own, and
//!       its [status](WebsiteStatus).
//!
//! | file | what it shows |
//! |---|---|
//! | `website` | a custom resource as a Rust type, with its schema, columns and scale |
//! | `informers` | what the caches keep of the objects |
//! | `install` | the definition applied, and waited for |
//! | `reconcile` | one website brought into order: finalizer, parts, status |
//! | `deployment`, `registry` | what is applied, and nothing else of the objects |
//! | `ensure` | writes only what differs |
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
pub use reconcile::{FINALIZER, Websites};
pub use website::{Website, WebsiteSpec, WebsiteStatus};
