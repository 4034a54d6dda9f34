//! Rows of a resource, each computed once for all streams (`stream.S5`).

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use watchkeeper_cache::Store;
use watchkeeper_core::{GroupVersionResource, Object, ObjectKey, ResourceVersion};

use super::table::Table;

/// Number of rows of deleted objects that may remain before they are removed.
const SLACK: usize = 64;

/// The rows of a resource, kept while a subscription uses them.
#[derive(Debug)]
pub(super) struct Rows {
    table: Table,
    columns: Arc<str>,
    store: Store,
    /// Computed rows, with the resource version of each.
    made: Mutex<HashMap<ObjectKey, (ResourceVersion, Arc<str>)>>,
}

/// The rows of all resources in use.
#[derive(Debug, Default)]
pub(super) struct Tables {
    shown: Mutex<HashMap<GroupVersionResource, Weak<Rows>>>,
}

impl Tables {
    /// Returns the rows of a resource, shared by subscriptions with the same columns and store.
    pub(super) fn rows(&self, resource: &GroupVersionResource, table: Table, store: &Store) -> Arc<Rows> {
        let mut shown = self.shown.lock();
        if let Some(rows) = shown.get(resource).and_then(Weak::upgrade)
            && rows.table == table
            && rows.store.is_same_as(store)
        {
            return rows;
        }
        shown.retain(|_, rows| rows.strong_count() > 0);
        let rows = Arc::new(Rows::new(table, store.clone()));
        shown.insert(resource.clone(), Arc::downgrade(&rows));
        rows
    }
}

impl Rows {
    fn new(table: Table, store: Store) -> Self {
        Self { columns: table.head(), table, store, made: Mutex::default() }
    }

    /// Returns the columns, as JSON.
    pub(super) fn columns(&self) -> Arc<str> {
        Arc::clone(&self.columns)
    }

    /// Returns the rows of objects, as JSON. Slow if they have to be computed.
    pub(super) fn of(&self, objects: &[Arc<Object>]) -> Vec<Arc<str>> {
        let made = self.made.lock();
        let known = |object: &Arc<Object>| {
            let (version, row) = made.get(object.metadata.key())?;
            (version == object.metadata.resource_version()).then(|| Arc::clone(row))
        };
        let known: Vec<Option<Arc<str>>> = objects.iter().map(known).collect();
        drop(made);
        let mut missing = Vec::new();
        let rows = known.into_iter().zip(objects).map(|(known, object)| {
            known.unwrap_or_else(|| {
                let row = self.table.row(object);
                missing.push((object, Arc::clone(&row)));
                row
            })
        });
        let rows = rows.collect();
        if !missing.is_empty() {
            self.keep(missing);
        }
        rows
    }

    fn keep(&self, rows: Vec<(&Arc<Object>, Arc<str>)>) {
        let now = self.store.snapshot();
        let mut made = self.made.lock();
        for (object, row) in rows {
            made.insert(object.metadata.key().clone(), (object.metadata.resource_version().clone(), row));
        }
        if made.len() > now.len() + now.len() / 4 + SLACK {
            made.retain(|key, _| now.get(key).is_some());
        }
    }
}
