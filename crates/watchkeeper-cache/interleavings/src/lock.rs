//! Lock: shuttle's, in the form of parking_lot's.
//!
//! Threads change before it is taken, and after it was released too: what is done next without a lock may come too
//! late.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use shuttle::sync::MutexGuard;
use shuttle::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    value: shuttle::sync::Mutex<T>,
    /// Says nothing: to look at it lets others go first.
    released: AtomicBool,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: shuttle::sync::Mutex::new(value), released: AtomicBool::default() }
    }

    pub(crate) fn lock(&self) -> Held<'_, T> {
        let guard = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Held { guard: Some(guard), released: &self.released }
    }

    /// `None` if another has it.
    #[allow(dead_code, reason = "the tests of the work queue have this file too")]
    pub(crate) fn try_lock(&self) -> Option<Held<'_, T>> {
        let guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Held { guard: Some(guard), released: &self.released })
    }
}

/// Whoever has this has the lock.
pub(crate) struct Held<'a, T> {
    /// `None` only while it is dropped.
    guard: Option<MutexGuard<'a, T>>,
    released: &'a AtomicBool,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is held")
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is held")
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.guard = None;
        if !std::thread::panicking() {
            self.released.load(Ordering::SeqCst);
        }
    }
}
