//! An in-memory lease.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use watchkeeper_controller::leader::{Elector, Held, LeaseError, LeaseStore, Record};
use watchkeeper_core::ResourceVersion;

use crate::Story;

/// Clones share their state. Records when the lease is released.
#[derive(Clone)]
pub(crate) struct Board {
    pub(crate) held: Arc<Mutex<Option<Held>>>,
    story: Story,
}

impl Board {
    pub(crate) fn new(story: &Story) -> Self {
        Self { held: Arc::default(), story: story.clone() }
    }

    pub(crate) fn elector(&self, identity: &str) -> Elector<Self> {
        Elector::new(self.clone(), identity).unwrap()
    }

    /// Takes the lease from its current holder, if any.
    pub(crate) fn seize(&self, holder: &str) {
        let mut held = self.held.lock();
        let version = held.as_ref().and_then(|held| held.version.as_u64()).unwrap_or(0) + 1;
        let lasts = Duration::from_secs(15);
        let record =
            Record { holder: holder.to_owned(), lasts, acquired: None, renewed: None, transitions: 7 };
        *held = Some(Held { record, version: version.into() });
    }

    fn write(&self, expected: Option<&ResourceVersion>, record: &Record) -> Result<Held, LeaseError> {
        let mut held = self.held.lock();
        if held.as_ref().map(|held| &held.version) != expected {
            return Err(LeaseError::Conflict);
        }
        if record.holder.is_empty() {
            self.story.record("released");
        }
        let version = expected.and_then(ResourceVersion::as_u64).unwrap_or(0) + 1;
        Ok(held.insert(Held { record: record.clone(), version: version.into() }).clone())
    }
}

impl LeaseStore for Board {
    async fn read(&self) -> Result<Option<Held>, LeaseError> {
        Ok(self.held.lock().clone())
    }

    async fn create(&self, record: &Record) -> Result<Held, LeaseError> {
        self.write(None, record)
    }

    async fn replace(&self, version: &ResourceVersion, record: &Record) -> Result<Held, LeaseError> {
        self.write(Some(version), record)
    }
}
