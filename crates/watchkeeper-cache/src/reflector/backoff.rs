//! Backoff: how long to wait before the server is asked again.

use std::time::Duration;

use tokio::time::Instant;

use super::random::Random;

/// After this time the delays begin anew, whether or not things went well meanwhile.
const RESET_AFTER: Duration = Duration::from_secs(120);

/// Delays that grow: each is `factor` times the one before it, up to `cap`.
///
/// By default 0.8, 1.6, 3.2, 6.4, 12.8, 25.6 and then 30 s, each of them multiplied by a random number from 1
/// to 2. Two minutes after they have begun they begin anew, even if nothing has gone well since: see
/// [`Reflector::backoff`](super::Reflector::backoff).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The first delay.
    pub base: Duration,
    /// How much longer each is than the one before it.
    pub factor: f64,
    /// Each is made longer by a random part of itself that is at most this; 0 leaves it as it is.
    pub jitter: f64,
    /// None is longer before the jitter.
    pub cap: Duration,
    /// How many times they grow at most.
    pub steps: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_millis(800),
            factor: 2.0,
            jitter: 1.0,
            cap: Duration::from_secs(30),
            steps: 38,
        }
    }
}

/// The delays of one reflector.
#[derive(Debug)]
pub(super) struct Delays {
    backoff: Backoff,
    next: Duration,
    steps: u32,
    /// When they began anew last.
    begun: Instant,
}

impl Delays {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { backoff, next: backoff.base, steps: backoff.steps, begun: Instant::now() }
    }

    /// The longest delay before the jitter.
    pub(super) fn cap(&self) -> Duration {
        self.backoff.cap
    }

    pub(super) fn next(&mut self, random: &mut Random) -> Duration {
        let now = Instant::now();
        if now.duration_since(self.begun) > RESET_AFTER {
            (self.next, self.steps, self.begun) = (self.backoff.base, self.backoff.steps, now);
        }
        let delay = self.next;
        if self.steps > 0 {
            self.steps -= 1;
            self.next = scaled(delay, self.backoff.factor);
            if self.next > self.backoff.cap {
                (self.next, self.steps) = (self.backoff.cap, 0);
            }
        }
        scaled(delay, 1.0 + self.backoff.jitter.max(0.0) * random.fraction())
    }
}

/// What a user's factor makes of it cannot overflow.
fn scaled(delay: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(backoff: Backoff, count: usize) -> Vec<u128> {
        let (mut delays, mut random) = (Delays::new(backoff), Random::seeded(1));
        (0..count).map(|_| delays.next(&mut random).as_millis()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn delays_double_up_to_the_cap_and_stay_there() {
        let plain = Backoff { jitter: 0.0, ..Backoff::default() };
        let expected = [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000];
        assert_eq!(milliseconds(plain, 9), expected);
        let own = Backoff {
            base: Duration::from_millis(10),
            factor: 2.0,
            jitter: 0.0,
            cap: Duration::from_millis(100),
            steps: 38,
        };
        assert_eq!(milliseconds(own, 6), [10, 20, 40, 80, 100, 100]);
        assert_eq!(milliseconds(Backoff { steps: 2, ..own }, 5), [10, 20, 40, 40, 40]);
    }

    #[tokio::test(start_paused = true)]
    async fn jitter_makes_a_delay_longer_and_at_most_twice_as_long() {
        let mut differs = false;
        for (jittered, plain) in milliseconds(Backoff::default(), 40)
            .into_iter()
            .zip(milliseconds(Backoff { jitter: 0.0, ..Backoff::default() }, 40))
        {
            assert!((plain..2 * plain).contains(&jittered), "{jittered} of {plain}");
            differs |= jittered != plain;
        }
        assert!(differs);
    }

    #[tokio::test(start_paused = true)]
    async fn delays_begin_anew_two_minutes_after_they_began_although_all_has_failed_since() {
        let (mut delays, mut random) =
            (Delays::new(Backoff { jitter: 0.0, ..Backoff::default() }), Random::seeded(1));
        let mut waited = Vec::new();
        for _ in 0..10 {
            let delay = delays.next(&mut random);
            waited.push(delay.as_millis());
            tokio::time::advance(delay).await;
        }
        // 110.4 s have gone by before the ninth delay, 140.4 s before the tenth.
        assert_eq!(waited, [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000, 800]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_setting_makes_a_delay_overflow() {
        for factor in [f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            let cap = Duration::MAX;
            let wild = Backoff { base: Duration::MAX, factor, jitter: factor, cap, steps: 3 };
            assert_eq!(milliseconds(wild, 5).len(), 5);
        }
    }
}
