//! shuttle's mutex with parking_lot's interface.
//!
//! Threads are switched before it is locked and also after it is unlocked, to find code after a critical section that
//! runs too late.

use std::ops::{Deref, DerefMut};
use std::sync::{PoisonError, TryLockError};

use shuttle::sync::MutexGuard;
use shuttle::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    value: shuttle::sync::Mutex<T>,
    /// Carries no information: loading it is a scheduling point.
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

    /// Returns `None` if it is locked.
    #[allow(dead_code, reason = "the work queue's tests share this file")]
    pub(crate) fn try_lock(&self) -> Option<Held<'_, T>> {
        let guard = match self.value.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Held { guard: Some(guard), released: &self.released })
    }
}

/// A lock guard.
pub(crate) struct Held<'a, T> {
    /// `None` only during drop.
    guard: Option<MutexGuard<'a, T>>,
    released: &'a AtomicBool,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("locked until drop")
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("locked until drop")
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
