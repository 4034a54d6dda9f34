//! Retries of conflicting updates.

use std::time::Duration;

use watchkeeper_core::Backoff;

use crate::rest::RequestError;

/// Maximum number of attempts.
const MAX_ATTEMPTS: u32 = 5;
/// Waits between attempts: about 10 ms each, as in client-go's `retry.DefaultRetry`.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(10),
    factor: 1.0,
    jitter: 0.1,
    cap: Duration::from_millis(10),
    steps: MAX_ATTEMPTS,
};

/// Runs `attempt` until it does not fail with a conflict, at most five times. It must read the object anew each time.
/// (client-go: `retry.RetryOnConflict`.)
///
/// ```no_run
/// # async fn example(client: watchkeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use watchkeeper_client::retry_on_conflict;
///
/// let deployments = client.dynamic(&"apps/v1".parse()?, "deployments").namespace("shop");
/// retry_on_conflict(async || {
///     let mut web = deployments.get("web").await?;
///     web.set(&["spec", "replicas"], json!(3));
///     deployments.update(&web, &Default::default()).await
/// })
/// .await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The last conflict, or immediately any other error.
pub async fn retry_on_conflict<T>(
    mut attempt: impl AsyncFnMut() -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    let (mut attempts, mut delays) = (1, BACKOFF.delays());
    loop {
        match attempt().await {
            Err(error) if error.is_conflict() && attempts < MAX_ATTEMPTS => attempts += 1,
            outcome => return outcome,
        }
        tokio::time::sleep(delays.next(fastrand::f64())).await;
    }
}
