//! Budget: bytes that responses may hold in memory until their clients read them.
//!
//! Input: response bodies on their way out ([`Metered`](crate::metered::Metered)), and handlers that hold something
//! for a response before it is written.
//! Output: a [`Charge`] for each, or a wait until others have released theirs.
//!
//! Invariants:
//! - `budget.B1`: the use of a budget is the sum of its live charges. A charge counts for its connection and for its
//!   listener.
//! - `budget.B2`: nothing is charged while either of the two is used up. A charge that begins below the limit may end
//!   above it, so that one response larger than the limit can still be sent.
//!   [`charge_now`](Budget::charge_now), for what exists already, is the exception.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The budget of one connection, and of the listener that it belongs to.
#[derive(Debug, Clone)]
pub struct Budget {
    connection: Arc<Account>,
    listener: Arc<Account>,
}

#[derive(Debug)]
struct Account {
    limit: usize,
    used: AtomicUsize,
    /// Notified when use falls below the limit.
    freed: Notify,
}

impl Account {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), used: AtomicUsize::new(0), freed: Notify::new() })
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn is_used_up(&self) -> bool {
        self.used() >= self.limit
    }

    fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        if before >= self.limit && before - bytes < self.limit {
            self.freed.notify_waiters();
        }
    }
}

/// Unlimited: for requests that did not arrive through a listener.
impl Default for Budget {
    fn default() -> Self {
        Self::limited(usize::MAX, usize::MAX)
    }
}

impl Budget {
    /// Creates a budget of `connection` bytes for one connection and `listener` bytes for all of them.
    pub fn limited(connection: usize, listener: usize) -> Self {
        Self { connection: Account::new(connection), listener: Account::new(listener) }
    }

    /// Creates the budget of another connection of the same listener.
    pub(crate) fn another(&self) -> Self {
        Self { connection: Account::new(self.connection.limit), listener: self.listener.clone() }
    }

    /// Returns the number of bytes that all connections of the listener hold.
    pub fn used(&self) -> usize {
        self.listener.used()
    }

    /// Returns whether the connection or the listener has used up its bytes.
    pub fn is_used_up(&self) -> bool {
        self.connection.is_used_up() || self.listener.is_used_up()
    }

    /// Charges bytes, unless the budget is used up (`budget.B2`).
    pub fn try_charge(&self, bytes: usize) -> Option<Charge> {
        (!self.is_used_up()).then(|| self.charge_now(bytes))
    }

    /// Waits until the budget is not used up, and charges bytes. Dropping the future charges nothing.
    pub async fn charge(&self, bytes: usize) -> Charge {
        loop {
            if let Some(charge) = self.try_charge(bytes) {
                return charge;
            }
            self.available().await;
        }
    }

    /// Charges bytes that are held already, whatever the limit.
    pub fn charge_now(&self, bytes: usize) -> Charge {
        for account in [&self.connection, &self.listener] {
            account.used.fetch_add(bytes, Ordering::AcqRel);
        }
        Charge { budget: self.clone(), bytes }
    }

    /// Waits until the budget is not used up.
    pub(crate) async fn available(&self) {
        loop {
            // Before the check: a notification in between is not lost.
            let freed = [&self.connection, &self.listener].map(|account| account.freed.notified());
            if !self.is_used_up() {
                return;
            }
            let [connection, listener] = freed;
            tokio::select! {
                () = connection => {}
                () = listener => {}
            }
        }
    }
}

/// Bytes that count as used until this is dropped (`budget.B1`).
#[derive(Debug)]
#[must_use = "dropping a charge releases it"]
pub struct Charge {
    budget: Budget,
    bytes: usize,
}

impl Charge {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Splits off a charge for some of the bytes, at most all of them.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), bytes }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.connection.release(self.bytes);
            self.budget.listener.release(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_counts_for_its_connection_and_its_listener_until_it_is_dropped() {
        let one = Budget::limited(10, 15);
        let other = one.another();
        let mut first = one.try_charge(10).unwrap();
        assert!(one.is_used_up() && one.try_charge(1).is_none(), "budget.B2");
        let second = other.try_charge(5).unwrap();
        assert!(other.is_used_up(), "the listener's bytes are used up");
        let part = first.split(4);
        assert_eq!((first.bytes(), part.bytes(), one.used()), (6, 4, 15), "budget.B1");
        drop(part);
        assert_eq!((one.used(), other.is_used_up()), (11, false));
        drop((first, second));
        assert_eq!(one.used(), 0, "budget.B1");
    }

    #[test]
    fn one_charge_may_exceed_the_limit() {
        let budget = Budget::limited(10, 10);
        let large = budget.try_charge(1000).unwrap();
        assert!(budget.try_charge(1).is_none(), "budget.B2");
        drop(large);
        assert!(budget.try_charge(1).is_some());
    }

    #[tokio::test]
    async fn a_waiting_charge_succeeds_when_others_are_released() {
        let budget = Budget::limited(10, 10);
        let held = budget.try_charge(10).unwrap();
        let mut waiting = Box::pin(budget.charge(3));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(held);
        assert_eq!(waiting.await.bytes(), 3);
    }
}
