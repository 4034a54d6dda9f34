//! Conflicts: somebody else has written meanwhile, so read again and write again.

use std::time::Duration;

use crate::rest::RequestError;

/// How often a write is tried that is in conflict.
const TRIES: u32 = 5;
/// How long is waited before it is tried again.
const WAIT: Duration = Duration::from_millis(10);

/// Does something until it is not in conflict, five times at most. It must read what it writes, each time.
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
/// The last conflict, or any other error at once.
pub async fn retry_on_conflict<T>(
    mut attempt: impl AsyncFnMut() -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    let mut tries = 1;
    loop {
        match attempt().await {
            Err(error) if error.is_conflict() && tries < TRIES => tries += 1,
            outcome => return outcome,
        }
        tokio::time::sleep(WAIT).await;
    }
}
