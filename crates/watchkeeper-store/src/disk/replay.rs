//! Replay: applies records to objects in order.

use std::io::Read;
use std::sync::Arc;

use super::Damage;
use super::frame::{BadFrame, Frames};
use super::record::{self, Record};
use super::snapshot::kept_bytes;
use crate::Revision;
use crate::memory::Restore;

/// The state after the records applied so far.
#[derive(Debug)]
pub(super) struct Replay {
    pub(super) objects: Restore,
    pub(super) revision: Revision,
}

impl Default for Replay {
    fn default() -> Self {
        Self { objects: Restore::default(), revision: Revision::FIRST }
    }
}

impl Replay {
    /// Returns the number of objects.
    pub(super) fn count(&self) -> usize {
        self.objects.objects().count()
    }

    /// Returns the size in bytes of a snapshot of the state.
    pub(super) fn live_bytes(&self) -> u64 {
        self.objects.objects().map(|(collection, stored)| kept_bytes(collection, &stored)).sum()
    }

    /// Applies the records of a log, up to the first that cannot be read.
    pub(super) fn take_changes<R: Read>(&mut self, frames: &mut Frames<R>) -> Result<(), BadFrame> {
        loop {
            let offset = frames.offset();
            let Some(payload) = frames.next()? else { return Ok(()) };
            self.take_change(payload).map_err(|what| BadFrame::Damaged(Damage { offset, what }))?;
        }
    }

    /// Applies one record of a log.
    fn take_change(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        const GAP: &str = "the record does not have the next revision";
        let next = Revision::new(self.revision.get().checked_add(1).ok_or(GAP)?);
        let revision = match record::read(payload)? {
            Record::Put { collection, stored } => {
                let revision = stored.modified();
                let existing = self.objects.get(&collection, stored.key());
                if stored.created() != existing.map_or(next, |existing| existing.created()) {
                    return Err("the record does not match the object stored before it");
                }
                self.objects.put(&collection, Arc::new(stored));
                revision
            }
            Record::Delete { collection, key, revision } => {
                self.objects
                    .delete(&collection, &key)
                    .ok_or("the record deletes an object that does not exist")?;
                revision
            }
            Record::End { .. } => return Err("the end of a snapshot inside a log"),
        };
        self.revision = revision;
        if revision == next { Ok(()) } else { Err(GAP) } // disk.D3
    }

    /// Applies one record of a snapshot. The last one sets the revision.
    pub(super) fn take_object(&mut self, payload: &[u8], revision: Revision) -> Result<(), &'static str> {
        if self.revision == revision {
            return Err("the record follows the end of the snapshot");
        }
        match record::read(payload)? {
            Record::Put { stored, .. }
                if stored.created() > stored.modified() || stored.modified() > revision =>
            {
                Err("the record is newer than the snapshot")
            }
            Record::Put { collection, stored } => match self.objects.put(&collection, Arc::new(stored)) {
                None => Ok(()),
                Some(_) => Err("duplicate object"),
            },
            Record::Delete { .. } => Err("a deletion inside a snapshot"),
            Record::End { objects } if objects == self.count() as u64 => {
                self.revision = revision;
                Ok(())
            }
            Record::End { .. } => {
                Err("the number of objects differs from the count at the end of the snapshot")
            }
        }
    }
}
