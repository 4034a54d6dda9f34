//! Demo: something to watch, in a cluster that has nothing yet.
//!
//! From: a client of the embedded cluster.
//! To:   namespaces, deployments and services, which [acts](act::Act) then scale, roll, break and mend, one after
//!       another, for as long as it runs.
//!
//! - E1: started again, over what an earlier one has left or beside one that runs, it makes nothing twice: everything
//!   has a name and is applied.
//! - E2: it is bounded: acts go round, and each is undone by a later one.
//! - E3: an act that fails is logged, and the next one is tried at its time.

mod act;
mod stage;

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use watchkeeper_client::Client;
use watchkeeper_client::rest::RequestError;

use act::ACTS;

/// Who writes all this.
const MANAGER: &str = "watchkeeper-demo";

/// Sets the stage: what there is before the first act. May be called at any time (E1).
pub(crate) async fn set(client: &Client) -> Result<(), RequestError> {
    stage::set(client).await
}

/// Plays act after act, one each `every`, until it is cancelled. If dropped half-way, an act may be half done.
pub(crate) async fn play(client: &Client, every: Duration, stop: &CancellationToken) {
    let mut at = Instant::now();
    for act in ACTS.iter().cycle() {
        at += every;
        if stop.run_until_cancelled(sleep_until(at)).await.is_none() {
            return;
        }
        let outcome = stop.run_until_cancelled(act.play(client)).await;
        if let Some(Err(error)) = outcome {
            warn!(%act, %error, "an act of the demo failed; the next one is tried at its time");
        }
    }
}
