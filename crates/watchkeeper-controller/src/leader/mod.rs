//! Leader election: of several processes that could do the work, one does.
//!
//! From: a lease that all of them can read and write: a [`Lease`] object of a server, or another [`LeaseStore`].
//! To:   a function that runs while this process leads, with a [`Leadership`] that says for how long.
//!
//! - L1: no two processes lead at once, as long as their clocks run equally fast. What time they show does not
//!   matter: nobody compares a time that another has written with his own clock.
//! - L2: a leader stops in time whatever the server does: by the time of the last renewal that it *sent* and that
//!   was taken, not by that of the answer.
//! - L3: every leadership has a [token](Leadership::token) that is greater than all before it, for whoever can refuse
//!   the writes of a former leader.
//!
//! ```no_run
//! # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! use watchkeeper_controller::leader::{Elector, Lease, Leadership};
//!
//! let elector = Elector::new(Lease::new(&client, "shop", "shops-controller"), "pod-1")?;
//! let stop = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
//! elector
//!     .run(|leadership: Leadership| async move {
//!         println!("leads with token {}", leadership.token());
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
