//! Backoff: the delays between the requests of a reflector.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;
use watchkeeper_core::Backoff;

/// The delays restart after this time, even without a success.
const RESET_AFTER: Duration = Duration::from_secs(120);

/// The current backoff of one reflector.
#[derive(Debug)]
pub(super) struct Delays {
    delays: watchkeeper_core::Delays,
    /// Time of the last restart.
    begun: Instant,
}

impl Delays {
    pub(super) fn new(backoff: Backoff) -> Self {
        Self { delays: backoff.delays(), begun: Instant::now() }
    }

    /// Returns the largest delay, before jitter.
    pub(super) fn cap(&self) -> Duration {
        self.delays.backoff().cap
    }

    pub(super) fn next(&mut self, random: &mut Rng) -> Duration {
        let now = Instant::now();
        if now.duration_since(self.begun) > RESET_AFTER {
            self.delays.reset();
            self.begun = now;
        }
        self.delays.next(random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(backoff: Backoff, count: usize) -> Vec<u128> {
        let (mut delays, mut random) = (Delays::new(backoff), Rng::with_seed(1));
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
    async fn jitter_lengthens_a_delay_to_at_most_twice_its_length() {
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
    async fn delays_restart_after_two_minutes_even_without_a_success() {
        let (mut delays, mut random) =
            (Delays::new(Backoff { jitter: 0.0, ..Backoff::default() }), Rng::with_seed(1));
        let mut waited = Vec::new();
        for _ in 0..10 {
            let delay = delays.next(&mut random);
            waited.push(delay.as_millis());
            tokio::time::advance(delay).await;
        }
        // 110.4 s have passed before the ninth delay, 140.4 s before the tenth.
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
