//! Demo: applications and a sequence of changes to them, for an otherwise empty cluster.
//!
//! Input: a client of the embedded cluster.
//! Output: namespaces, deployments and services, which [changes](changes::Change) then scale, roll out, break and
//! restore, one after another, until the demo is stopped.
//!
//! Invariants:
//! - `demo.D1`: starting it again, or beside another instance, creates nothing twice: all objects have fixed names and
//!   are applied.
//! - `demo.D2`: it is bounded: changes repeat in a cycle, and each is undone by a later one.
//! - `demo.D3`: a failed change is logged, and the next one follows at its time.

mod apps;
mod changes;

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use watchkeeper_client::Client;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::ErrorChain;

use changes::CHANGES;

/// Field manager of the demo's writes.
const MANAGER: &str = "watchkeeper-demo";

/// Applies the initial objects. Can be called at any time (`demo.D1`).
pub(crate) async fn deploy(client: &Client) -> Result<(), RequestError> {
    apps::apply_all(client).await
}

/// Makes a change every `every` until cancelled. If dropped, a change may be half done.
pub(crate) async fn run(client: &Client, every: Duration, stop: &CancellationToken) {
    let mut at = Instant::now();
    for change in CHANGES.iter().cycle() {
        at += every;
        if stop.run_until_cancelled(sleep_until(at)).await.is_none() {
            return;
        }
        let outcome = stop.run_until_cancelled(Box::pin(change.apply(client))).await;
        if let Some(Err(error)) = outcome {
            warn!(%change, error = %ErrorChain(&error), "demo change failed; the next one follows as scheduled");
        }
    }
}
