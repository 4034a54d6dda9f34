//! Instances: those of a kind that are in use in this process.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::AuthError;

/// Remembers what is in use elsewhere, and keeps nothing alive itself.
pub(super) struct Instances<T>(Mutex<Vec<Weak<T>>>);

impl<T> Instances<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The one that is meant, or else a new one.
    pub(super) fn get(
        &self,
        is_meant: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, AuthError>,
    ) -> Result<Arc<T>, AuthError> {
        let mut known = self.0.lock();
        known.retain(|it| it.strong_count() > 0);
        if let Some(it) = known.iter().filter_map(Weak::upgrade).find(|it| is_meant(it)) {
            return Ok(it);
        }
        let made = Arc::new(make()?);
        known.push(Arc::downgrade(&made));
        Ok(made)
    }
}
