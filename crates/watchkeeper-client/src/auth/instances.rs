//! Registry of the instances of a type that are alive in this process.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::AuthError;

/// Weak references to live instances, so that equal configurations share one.
pub(super) struct Instances<T>(Mutex<Vec<Weak<T>>>);

impl<T> Instances<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Returns the live instance that matches, or creates one.
    pub(super) fn get(
        &self,
        matches: impl Fn(&T) -> bool,
        create: impl FnOnce() -> Result<T, AuthError>,
    ) -> Result<Arc<T>, AuthError> {
        let mut instances = self.0.lock();
        instances.retain(|instance| instance.strong_count() > 0);
        if let Some(instance) = instances.iter().filter_map(Weak::upgrade).find(|it| matches(it)) {
            return Ok(instance);
        }
        let created = Arc::new(create()?);
        instances.push(Arc::downgrade(&created));
        Ok(created)
    }
}
