//! A store on disk: what it keeps, what it survives, and what it refuses.

mod beside;
mod corpus;
mod crashes;
mod directory;
mod fake;
mod faults;
mod snapshots;
mod visibility;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(in crate::store) use fake::FakeFiles;

use super::*;
use crate::store::tests::{key, now, value};

/// All objects, by collection and key.
type State = BTreeMap<(String, String), Arc<Stored>>;

const COLLECTIONS: [&str; 2] = ["pods", "apps/deployments"];

/// Snapshots all the time.
const EAGER: Thresholds = Thresholds { factor: 2, least: 1500 };
/// Snapshots never.
const NEVER: Thresholds = Thresholds { factor: 0, least: u64::MAX };

impl DiskStore {
    /// An empty store on files that are none.
    pub(in crate::store) fn on_fake_files(limits: HistoryLimits) -> Self {
        Self::on(FakeFiles::default(), limits, EAGER, Losses::Refused).unwrap()
    }
}

fn open(files: &FakeFiles, thresholds: Thresholds) -> Result<DiskStore, OpenError> {
    DiskStore::on(files.clone(), HistoryLimits::default(), thresholds, Losses::Refused)
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

/// A write as a test asks for it: number of the key, how large, and whether it deletes.
type Step = (usize, usize, bool);

fn place(number: usize) -> (Collection, String) {
    (COLLECTIONS[number % 2].into(), format!("n{}/object-{}", number % 3, number))
}

/// Makes a change: `None` where there is nothing to delete.
fn take(store: &DiskStore, (number, size, deletes): Step) -> Option<Result<Arc<Stored>, WriteError>> {
    let (collection, text) = place(number);
    let result = match deletes {
        true => now(store.delete(&collection, &key(&text), None)),
        false => now(store.put(&collection, value(&text, &"x".repeat(size)), Expect::Any)),
    };
    match result {
        Err(WriteError::Conflict { .. }) => None,
        result => Some(result),
    }
}
