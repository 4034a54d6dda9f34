//! Exponential backoff.

use std::time::Duration;

/// Exponential backoff with jitter: each delay is `factor` times the previous one, up to `cap`. (client-go:
/// `wait.Backoff`.)
///
/// The default is that of client-go's reflectors: 0.8, 1.6, 3.2, 6.4, 12.8, 25.6 and then 30 s, each multiplied by a random
/// number between 1 and 2.
///
/// ```
/// use std::time::Duration;
/// use watchkeeper_core::Backoff;
///
/// let backoff = Backoff { base: Duration::from_millis(10), cap: Duration::from_millis(50), ..Backoff::default() };
/// let mut delays = backoff.delays();
/// let no_jitter = 0.0;
/// assert_eq!([(); 4].map(|()| delays.next(no_jitter).as_millis()), [10, 20, 40, 50]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The first delay.
    pub base: Duration,
    /// The growth factor.
    pub factor: f64,
    /// The largest random fraction of a delay that is added to it; 0 disables jitter.
    pub jitter: f64,
    /// The largest delay, before jitter.
    pub cap: Duration,
    /// The largest number of times that the delay grows.
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

impl Backoff {
    /// Returns the delays, from the first.
    pub fn delays(self) -> Delays {
        Delays { backoff: self, next: self.base, steps: self.steps }
    }

    /// Returns the delay after `attempt` earlier ones. `random` is as for [`Delays::next`].
    pub fn delay(self, attempt: u32, random: f64) -> Duration {
        let mut delays = self.delays();
        for _ in 0..attempt {
            if delays.steps == 0 {
                break;
            }
            delays.next(0.0);
        }
        delays.next(random)
    }
}

/// The delays of a [`Backoff`].
#[derive(Debug, Clone, PartialEq)]
pub struct Delays {
    backoff: Backoff,
    next: Duration,
    steps: u32,
}

impl Delays {
    /// Returns the backoff that the delays follow.
    pub fn backoff(&self) -> &Backoff {
        &self.backoff
    }

    /// Returns the next delay. `random`, in `0.0..1.0`, is the part of the jitter that is added.
    pub fn next(&mut self, random: f64) -> Duration {
        let delay = self.next;
        if self.steps > 0 {
            self.steps -= 1;
            self.next = scale(delay, self.backoff.factor);
            if self.next > self.backoff.cap {
                (self.next, self.steps) = (self.backoff.cap, 0);
            }
        }
        scale(delay, 1.0 + self.backoff.jitter.max(0.0) * random)
    }

    /// Restarts with the first delay.
    pub fn reset(&mut self) {
        *self = self.backoff.delays();
    }
}

/// Multiplies without overflow, whatever the factor.
fn scale(delay: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(backoff: Backoff, count: usize, random: f64) -> Vec<u128> {
        let mut delays = backoff.delays();
        (0..count).map(|_| delays.next(random).as_millis()).collect()
    }

    #[test]
    fn delays_double_up_to_the_cap_and_stay_there() {
        let expected = [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000];
        assert_eq!(milliseconds(Backoff::default(), 9, 0.0), expected);
        let (base, cap) = (Duration::from_millis(10), Duration::from_millis(100));
        let short = Backoff { base, cap, ..Backoff::default() };
        assert_eq!(milliseconds(short, 6, 0.0), [10, 20, 40, 80, 100, 100]);
        assert_eq!(milliseconds(Backoff { steps: 2, ..short }, 5, 0.0), [10, 20, 40, 40, 40]);
        let mut delays = short.delays();
        delays.next(0.0);
        delays.reset();
        assert_eq!(delays, short.delays());
        assert_eq!([0, 1, 5, 1000].map(|attempt| short.delay(attempt, 0.0).as_millis()), [10, 20, 100, 100]);
    }

    #[test]
    fn jitter_adds_at_most_its_fraction() {
        assert_eq!(milliseconds(Backoff::default(), 3, 0.5), [1200, 2400, 4800]);
        assert_eq!(milliseconds(Backoff { jitter: 0.1, ..Backoff::default() }, 1, 1.0), [880]);
        assert_eq!(milliseconds(Backoff { jitter: 0.0, ..Backoff::default() }, 1, 1.0), [800]);
    }

    #[test]
    fn no_setting_makes_a_delay_overflow() {
        for factor in [f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            let (base, cap) = (Duration::MAX, Duration::MAX);
            let wild = Backoff { base, factor, jitter: factor, cap, steps: 3 };
            assert_eq!(milliseconds(wild, 5, 0.9).len(), 5);
        }
    }
}
