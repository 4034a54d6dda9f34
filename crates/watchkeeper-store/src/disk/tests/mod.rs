//! A store on disk: what it persists, what it survives, and what it refuses.

mod corpus;
mod crashes;
mod directory;
mod fake;
mod faults;
mod side_file;
mod snapshots;
mod visibility;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use fake::FakeFiles;

use super::*;
use crate::tests::{key, now, value};

/// All objects, by collection and key.
type State = BTreeMap<(String, String), Arc<Stored>>;

const COLLECTIONS: [&str; 2] = ["pods", "apps/deployments"];

/// Takes snapshots constantly.
const EAGER: Thresholds = Thresholds { factor: 2, least: 1500 };
/// Never takes a snapshot.
const NEVER: Thresholds = Thresholds { factor: 0, least: u64::MAX };

impl DiskStore {
    /// Creates an empty store on fake files.
    pub(crate) fn on_fake_files(limits: HistoryLimits) -> Self {
        Self::on(FakeFiles::default(), limits, EAGER, LossPolicy::Refused).unwrap()
    }
}

fn open(files: &FakeFiles, thresholds: Thresholds) -> Result<DiskStore, OpenError> {
    DiskStore::on(files.clone(), HistoryLimits::default(), thresholds, LossPolicy::Refused)
}

fn state(store: &DiskStore) -> State {
    let mut state = State::new();
    for collection in COLLECTIONS {
        for stored in now(store.range(RangeQuery::all(collection.into()))).unwrap().items {
            state.insert((collection.to_owned(), stored.key().to_string()), stored);
        }
    }
    state
}

fn revision(store: &DiskStore) -> u64 {
    now(store.current()).unwrap().get()
}

/// A write: number of the key, size in bytes, and whether it is a deletion.
type Step = (usize, usize, bool);

fn place(number: usize) -> (CollectionId, String) {
    (COLLECTIONS[number % 2].into(), format!("n{}/object-{}", number % 3, number))
}

/// Applies a step; returns `None` if there is nothing to delete.
fn take(store: &DiskStore, (number, size, deletes): Step) -> Option<Result<Arc<Stored>, WriteError>> {
    let (collection, text) = place(number);
    let result = if deletes {
        now(store.delete(&collection, &key(&text), None))
    } else {
        now(store.put(&collection, value(&text, &"x".repeat(size)), Precondition::Any))
    };
    match result {
        Err(WriteError::Conflict { .. }) => None,
        result => Some(result),
    }
}
