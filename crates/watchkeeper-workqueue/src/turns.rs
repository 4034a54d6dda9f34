//! Turns: who goes on and who stands back where two want the lock.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::lock::{Held, Mutex};

/// How those who add and those who take share a lock.
///
/// What the lock guards is in the cache of the processor that had it last, and to fetch it from there takes longer
/// than most of what is done with it. So whoever finds it taken stands back for a while, without so much as looking,
/// and the other, who comes for it again and again, goes on at full speed: handing it to and fro key by key takes both
/// of them together several times as long. He who has less to do stands back for longer: those who add, where many
/// keys wait already, since what waits should stay in the cache; those who take, where few do, since somebody who
/// finds none goes to sleep.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// How many keys wait, as far as one can tell without the lock.
    waiting: AtomicUsize,
    /// Whether somebody has stood back since a getter last found nothing.
    is_contended: AtomicBool,
}

/// What somebody wants the lock for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Add,
    Take,
}

impl Turns {
    /// From how many keys on many wait.
    const MANY: usize = 256;
    /// How long one stands back at first: 1 us and 10 us. It is twice as long each time.
    const SHORT: u32 = 50;
    const LONG: u32 = 400;
    /// How often, before he sleeps until it is released.
    const TIMES: u32 = 3;

    /// So many keys wait now.
    pub(crate) fn note(&self, waiting: usize) {
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// A getter has found nothing.
    pub(crate) fn calm_down(&self) {
        self.is_contended.store(false, Ordering::Relaxed);
    }

    /// Whether several want the lock all the time, as far as one can tell.
    pub(crate) fn is_contended(&self) -> bool {
        self.is_contended.load(Ordering::Relaxed)
    }

    /// The lock, for somebody who has found it taken.
    #[cold]
    pub(crate) fn stand_back<'a, T>(&self, lock: &'a Mutex<T>, side: Side) -> Held<'a, T> {
        self.is_contended.store(true, Ordering::Relaxed);
        let many_wait = self.waiting.load(Ordering::Relaxed) >= Self::MANY;
        let pauses = if many_wait == (side == Side::Add) { Self::LONG } else { Self::SHORT };
        for time in 0..Self::TIMES {
            for _ in 0..pauses << time {
                spin_loop();
            }
            if let Some(held) = lock.try_lock() {
                return held;
            }
        }
        lock.lock()
    }
}
