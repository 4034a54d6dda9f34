//! Clock: the time as a queue writes it down.

use std::time::Duration;

use crate::time::Instant;

/// The time, where anybody wants to know it: with nothing but one priority and no metrics, nobody does.
#[derive(Debug)]
pub(crate) struct Clock {
    is_wanted: bool,
    begun: Instant,
}

/// Nanoseconds since the queue was made: half as large as an [`Instant`], and every node has several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Clock {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { is_wanted, begun: Instant::now() }
    }

    /// From now on, or as before.
    pub(crate) fn want(&mut self, is_wanted: bool) {
        self.is_wanted |= is_wanted;
    }

    /// The time, or the beginning of all time if nobody wants to know it.
    pub(crate) fn now(&self) -> Moment {
        if self.is_wanted { self.moment(Instant::now()) } else { Moment::default() }
    }

    pub(crate) fn moment(&self, instant: Instant) -> Moment {
        Moment::default().after(instant.duration_since(self.begun))
    }

    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.begun + Duration::from_nanos(moment.0)
    }
}

impl Moment {
    /// So much later; the end of all time, which is in six centuries, if that is later still.
    pub(crate) fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// How much later it is than another.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_an_instant_and_nothing_is_later_than_the_end() {
        let clock = Clock::new(true);
        let later = clock.begun + Duration::new(3, 5);
        assert_eq!(clock.instant(clock.moment(later)), later);
        assert_eq!(clock.moment(later).since(clock.moment(clock.begun)), Duration::new(3, 5));
        assert_eq!(clock.moment(clock.begun).since(clock.moment(later)), Duration::ZERO);
        assert_eq!(clock.now().after(Duration::MAX), Moment(u64::MAX));
    }
}
