//! Replay: records made into objects, one after the other.

use std::io::Read;
use std::sync::Arc;

use super::Damage;
use super::frame::{BadFrame, Frames};
use super::record::{self, Record};
use super::snapshot::kept_bytes;
use crate::store::Revision;
use crate::store::memory::Restore;

/// The state after the records that were taken.
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
    /// How many objects there are.
    pub(super) fn count(&self) -> usize {
        self.objects.objects().count()
    }

    /// How many bytes a snapshot would have.
    pub(super) fn live_bytes(&self) -> u64 {
        self.objects.objects().map(|(collection, stored)| kept_bytes(collection, &stored)).sum()
    }

    /// Takes all records of a log, up to the first that cannot be read.
    pub(super) fn take_changes<R: Read>(&mut self, frames: &mut Frames<R>) -> Result<(), BadFrame> {
        loop {
            let offset = frames.offset();
            let Some(payload) = frames.next()? else { return Ok(()) };
            self.take_change(payload).map_err(|what| BadFrame::Damaged(Damage { offset, what }))?;
        }
    }

    /// Takes a record of a log.
    fn take_change(&mut self, payload: &[u8]) -> Result<(), &'static str> {
        const GAP: &str = "the record there is not of the next revision";
        let next = Revision::new(self.revision.get().checked_add(1).ok_or(GAP)?);
        let revision = match record::read(payload)? {
            Record::Put { collection, stored } => {
                let revision = stored.modified();
                let existing = self.objects.get(&collection, stored.key());
                if stored.created() != existing.map_or(next, |existing| existing.created()) {
                    return Err("the record there does not fit what was stored before it");
                }
                self.objects.put(&collection, Arc::new(stored));
                revision
            }
            Record::Delete { collection, key, revision } => {
                self.objects.delete(&collection, &key).ok_or("the record there deletes what is not there")?;
                revision
            }
            Record::End { .. } => return Err("the end of a snapshot is there, in a log"),
        };
        self.revision = revision;
        if revision == next { Ok(()) } else { Err(GAP) } // D3
    }

    /// Takes a record of a snapshot. The last of them brings its revision.
    pub(super) fn take_object(&mut self, payload: &[u8], revision: Revision) -> Result<(), &'static str> {
        if self.revision == revision {
            return Err("the record there comes after the end of the snapshot");
        }
        match record::read(payload)? {
            Record::Put { stored, .. }
                if stored.created() > stored.modified() || stored.modified() > revision =>
            {
                Err("the record there is newer than the snapshot")
            }
            Record::Put { collection, stored } => match self.objects.put(&collection, Arc::new(stored)) {
                None => Ok(()),
                Some(_) => Err("the object there comes twice"),
            },
            Record::Delete { .. } => Err("a deletion is there, in a snapshot"),
            Record::End { objects } if objects == self.count() as u64 => {
                self.revision = revision;
                Ok(())
            }
            Record::End { .. } => Err("the snapshot has another number of objects than it says"),
        }
    }
}
