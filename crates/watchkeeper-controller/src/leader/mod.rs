//! Leader election: of several processes, one is active.
//!
//! Input: a lease that all candidates can read and write: a [`Lease`] object of a server, or another
//! [`LeaseStore`].
//! Output: a function that runs while this process leads, with a [`Leadership`] handle.
//!
//! Invariants:
//! - `leader.L1`: no two processes lead at once, as long as their clocks run at the same rate. Clock skew
//!   does not matter: no process compares a timestamp written by another with its own clock.
//! - `leader.L2`: a leader stops in time whatever the server does, counting from when it *sent* the last
//!   successful renewal, not from when the response arrived.
//! - `leader.L3`: every term has a [fencing token](Leadership::token) greater than all earlier ones.
//!
//! ```no_run
//! # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_controller::leader::{Elector, Lease, Leadership};
//!
//! let elector = Elector::new(Lease::new(&client, "shop", "shops-controller"), "pod-1")?;
//! let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! elector
//!     .run(|leadership: Leadership| async move {
//!         println!("leading with token {}", leadership.token());
//!         leadership.lost().await;
//!     }, stop)
//!     .await;
//! # Ok(())
//! # }
//! ```

mod elector;
mod leadership;
mod lease;
mod record;
mod reports;
mod timing;

pub use elector::{Elector, InvalidElector};
pub use leadership::Leadership;
pub use lease::Lease;
pub use record::{Held, LeaseError, LeaseStore, Record};
