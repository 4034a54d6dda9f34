//! Slowdown: delays responses to wrong tokens, increasingly, per remote address.
//!
//! Input: the [handler chain](super::handler_chain), with every rejected token.
//! Output: the delay of the response. A valid token is never delayed, whatever else its address sends.
//!
//! Invariants:
//! - `slowdown.N1`: at most [`ADDRESSES`] are remembered, each for [`FORGET_AFTER`] since its last wrong token.
//! - `slowdown.N2`: at most [`WAITING`] responses are delayed at a time; further ones are sent at once.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The number of wrong tokens per address that are not delayed. A client with an expired token is not an attack.
pub const FREE_REFUSALS: u32 = 10;
/// The first delay; it doubles with each further wrong token.
pub const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The maximum delay.
pub const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// The time for which an address is remembered after its last wrong token.
pub const FORGET_AFTER: Duration = Duration::from_secs(60);
/// The maximum number of remembered addresses. A further one replaces the least recent.
pub const ADDRESSES: usize = 4096;
/// The maximum number of delayed responses.
pub const WAITING: usize = 1024;

/// Remembers the addresses that have sent wrong tokens.
#[derive(Debug, Clone)]
pub(crate) struct Slowdown {
    refused: Arc<Mutex<HashMap<IpAddr, Refused>>>,
    waiting: Arc<Semaphore>,
}

#[derive(Debug, Clone, Copy)]
struct Refused {
    times: u32,
    last: Instant,
}

impl Default for Slowdown {
    fn default() -> Self {
        Self { refused: Arc::default(), waiting: Arc::new(Semaphore::new(WAITING)) }
    }
}

impl Slowdown {
    /// Waits before a wrong token from this address is rejected. Dropping the future ends the wait.
    pub(crate) async fn wait(&self, address: IpAddr) {
        let delay = self.refuse(address, Instant::now());
        if delay.is_zero() {
            return;
        }
        if let Ok(_permit) = self.waiting.try_acquire() {
            tokio::time::sleep(delay).await;
        }
    }

    /// Records a wrong token, and returns the delay of its response.
    fn refuse(&self, address: IpAddr, now: Instant) -> Duration {
        let address = network(address);
        let mut refused = self.refused.lock();
        let is_quiet = |entry: &Refused| now.duration_since(entry.last) >= FORGET_AFTER;
        if !refused.contains_key(&address) && refused.len() >= ADDRESSES {
            refused.retain(|_, entry| !is_quiet(entry));
            if refused.len() >= ADDRESSES
                && let Some(quietest) = refused.iter().min_by_key(|(_, entry)| entry.last).map(|(at, _)| *at)
            {
                refused.remove(&quietest); // slowdown.N1
            }
        }
        let entry = refused.entry(address).or_insert(Refused { times: 0, last: now });
        if is_quiet(entry) {
            entry.times = 0;
        }
        entry.times = entry.times.saturating_add(1);
        entry.last = now;
        if entry.times == FREE_REFUSALS + 1 {
            tracing::warn!(
                "{address} has sent {} wrong tokens; delaying responses to further ones by up to {LONGEST_DELAY:?}",
                entry.times
            );
        }
        match entry.times.checked_sub(FREE_REFUSALS + 1) {
            None => Duration::ZERO,
            Some(doublings) => FIRST_DELAY
                .saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
                .min(LONGEST_DELAY),
        }
    }
}

/// Returns the unit that counts as one address: for IPv6 the /64 network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[tokio::test(start_paused = true)]
    async fn each_wrong_token_waits_twice_as_long_as_the_one_before_up_to_a_limit() {
        let (slowdown, now) = (Slowdown::default(), Instant::now());
        let delays: Vec<_> = (0..20).map(|_| slowdown.refuse(address(1), now).as_millis()).collect();
        let expected = [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000];
        assert_eq!((&delays[..10], &delays[10..]), (&[0; 10][..], &expected[..]));
        assert_eq!(slowdown.refuse(address(2), now), Duration::ZERO, "another address");
        assert_eq!(slowdown.refuse(address(1), now + FORGET_AFTER), Duration::ZERO, "after a quiet time");
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_one_ipv6_network_count_as_one() {
        let (slowdown, now) = (Slowdown::default(), Instant::now());
        for host in 0..=FREE_REFUSALS {
            slowdown.refuse(format!("2001:db8::{host:x}").parse().unwrap(), now);
        }
        assert!(!slowdown.refuse("2001:db8::ffff:1".parse().unwrap(), now).is_zero());
        assert!(slowdown.refuse("2001:db8:0:1::1".parse().unwrap(), now).is_zero());
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), address(0x0a00_0001));
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded_and_the_quietest_address_leaves_first() {
        let (slowdown, begun) = (Slowdown::default(), Instant::now());
        for number in 0..10_000 {
            slowdown.refuse(address(number), begun + Duration::from_millis(number.into()));
        }
        let refused = slowdown.refused.lock();
        assert_eq!(refused.len(), ADDRESSES, "slowdown.N1");
        assert!(refused.contains_key(&address(9_999)) && !refused.contains_key(&address(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_refusals_wait_at_once_than_the_limit() {
        let slowdown = Slowdown::default();
        let begun = Instant::now();
        let _all_taken = slowdown.waiting.clone().try_acquire_many_owned(1024).unwrap();
        for _ in 0..20 {
            slowdown.wait(address(1)).await;
        }
        assert_eq!(begun.elapsed(), Duration::ZERO, "slowdown.N2");
    }
}
