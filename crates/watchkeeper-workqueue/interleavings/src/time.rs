//! Time: a clock that stands still until a test lets time [pass].
//!
//! It is thread-local: shuttle runs all threads of a test on one thread of the system.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The current time, and the wakers of sleeping futures.
#[derive(Debug, Default)]
struct Clock {
    now: Duration,
    sleepers: BTreeMap<u64, (Instant, Waker)>,
    last: u64,
}

std::thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::default();
}

/// Resets the clock to zero, without sleepers.
pub fn begin() {
    let before = CLOCK.take();
    drop(before);
}

/// Advances the clock, and wakes the futures whose deadline has passed.
pub fn pass(time: Duration) {
    let woken: Vec<Waker> = CLOCK.with_borrow_mut(|clock| {
        clock.now += time;
        let (now, sleepers) = (Instant(clock.now), std::mem::take(&mut clock.sleepers));
        let (woken, asleep) = sleepers.into_iter().partition(|(_, (until, _))| *until <= now);
        clock.sleepers = asleep;
        BTreeMap::into_values(woken).map(|(_, waker)| waker).collect()
    });
    woken.into_iter().for_each(Waker::wake);
}

/// Returns the time since [`begin`].
pub fn passed() -> Duration {
    Instant::now().0
}

/// An instant, like tokio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(Duration);

impl Instant {
    pub(crate) fn now() -> Self {
        CLOCK.with_borrow(|clock| Self(clock.now))
    }

    pub(crate) fn duration_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

/// Sleeps until an instant, like tokio's. If it is dropped, nothing is woken.
#[derive(Debug)]
pub(crate) struct Sleep {
    until: Instant,
    number: u64,
}

pub(crate) fn sleep_until(until: Instant) -> Sleep {
    let number = CLOCK.with_borrow_mut(|clock| {
        clock.last += 1;
        clock.last
    });
    Sleep { until, number }
}

impl Sleep {
    pub(crate) fn deadline(&self) -> Instant {
        self.until
    }

    pub(crate) fn reset(mut self: Pin<&mut Self>, until: Instant) {
        self.until = until;
        self.unregister();
    }

    fn unregister(&self) {
        let waker = CLOCK.with_borrow_mut(|clock| clock.sleepers.remove(&self.number));
        drop(waker);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.until <= Instant::now() {
            self.unregister();
            return Poll::Ready(());
        }
        let sleeper = (self.until, context.waker().clone());
        let before = CLOCK.with_borrow_mut(|clock| clock.sleepers.insert(self.number, sleeper));
        drop(before);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.unregister();
    }
}
