//! Waiting for room in the budget for the bytes that a response holds before it is sent.

use std::time::Duration;

use watchkeeper_core::Status;
use watchkeeper_listen::{Budget, CHARGED_FROM_BYTES, Charge};

/// The maximum wait for room. By then the connection has disconnected the slow readers that use it up
/// ([`stall_when_scarce`](watchkeeper_listen::ConnectionLimits::stall_when_scarce)).
pub(crate) const ROOM_WAIT: Duration = Duration::from_secs(10);

/// The budget stayed used up for [`ROOM_WAIT`].
#[derive(Debug)]
pub(crate) struct NoRoom;

impl From<NoRoom> for Status {
    fn from(_: NoRoom) -> Self {
        Self::too_many_requests(
            "too many bytes of responses have not been read by their clients, please try again later",
            Duration::from_secs(1),
        )
    }
}

/// Charges the bytes that a response holds until it is sent; returns `None` if they are too few to be charged.
///
/// # Errors
/// Fails if there is no room within [`ROOM_WAIT`].
pub(crate) async fn hold(budget: &Budget, bytes: usize) -> Result<Option<Charge>, NoRoom> {
    if bytes < CHARGED_FROM_BYTES {
        return Ok(None);
    }
    let charge = tokio::time::timeout(ROOM_WAIT, budget.charge(bytes)).await;
    charge.map(Some).map_err(|_| NoRoom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_few_bytes_are_free_and_many_wait_for_room() {
        let budget = Budget::limited(1, 1);
        let held = hold(&budget, CHARGED_FROM_BYTES).await.unwrap();
        assert!(hold(&budget, CHARGED_FROM_BYTES - 1).await.unwrap().is_none());
        let begun = Instant::now();
        let refused: Status = hold(&budget, CHARGED_FROM_BYTES).await.unwrap_err().into();
        assert_eq!((refused.code, begun.elapsed()), (429, ROOM_WAIT));
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
        drop(held);
        assert!(hold(&budget, CHARGED_FROM_BYTES).await.unwrap().is_some());
    }
}
