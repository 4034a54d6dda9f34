//! Alternatives: other ways to share tables between readers and a writer.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use watchkeeper_core::{Object, ObjectKey};

use super::shared_store::SharedStore;
use super::tables::Tables;

/// One lock around the tables, as in client-go: a reader that lists blocks the writer, and the writer blocks all
/// readers. [`replace`](SharedStore::replace) builds new tables outside the lock and swaps them in.
#[derive(Debug, Default)]
pub struct OneLock {
    tables: RwLock<Tables>,
}

impl SharedStore for OneLock {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.tables.read().get(key)
    }

    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        self.tables.read().with_label(key, value)
    }

    fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        self.tables.read().with_value(value)
    }

    fn scan(&self) -> usize {
        // The result has to be consistent, so the pointers are copied under the lock, as in client-go.
        let all: Vec<Arc<Object>> = self.tables.read().all().cloned().collect();
        all.iter().map(|object| object.encoded.body.len()).sum()
    }

    fn put(&self, object: Object) {
        self.tables.write().put(&Arc::new(object));
    }

    fn replace(&self, objects: Vec<Object>) {
        let new = objects.into_iter().map(Arc::new).collect();
        let old = std::mem::replace(&mut *self.tables.write(), new);
        drop(old);
    }
}

/// Sixteen locks, each for a part of the keys. Lists that span several shards are not consistent.
#[derive(Debug)]
pub struct Shards {
    shards: Vec<RwLock<Tables>>,
}

const SHARDS: usize = 16;

impl Default for Shards {
    fn default() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }
}

impl Shards {
    fn index(key: &ObjectKey) -> usize {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(key) as usize % SHARDS
    }

    fn shard(&self, key: &ObjectKey) -> &RwLock<Tables> {
        &self.shards[Self::index(key)]
    }
}

impl SharedStore for Shards {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.shard(key).read().get(key)
    }

    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        self.shards.iter().flat_map(|shard| shard.read().with_label(key, value)).collect()
    }

    fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        self.shards.iter().flat_map(|shard| shard.read().with_value(value)).collect()
    }

    fn scan(&self) -> usize {
        let all = |shard: &RwLock<Tables>| shard.read().all().cloned().collect::<Vec<_>>();
        self.shards.iter().flat_map(all).map(|object| object.encoded.body.len()).sum()
    }

    fn put(&self, object: Object) {
        self.shard(object.metadata.key()).write().put(&Arc::new(object));
    }

    fn replace(&self, objects: Vec<Object>) {
        let mut parts = vec![Vec::new(); SHARDS];
        for object in objects {
            parts[Self::index(object.metadata.key())].push(Arc::new(object));
        }
        for (shard, part) in self.shards.iter().zip(parts) {
            let new = part.into_iter().collect();
            let old = std::mem::replace(&mut *shard.write(), new);
            drop(old);
        }
    }
}

/// Two copies of the tables, one for readers and one for the writer. The writer changes its copy, swaps the two, and
/// repeats the change on the other copy. Readers never wait; the writer waits for readers of the old copy.
#[derive(Debug, Default)]
pub struct LeftRight {
    sides: [RwLock<Tables>; 2],
    front: AtomicUsize,
}

impl LeftRight {
    fn read<T>(&self, read: impl Fn(&Tables) -> T) -> T {
        loop {
            let side = &self.sides[self.front.load(Ordering::Acquire)];
            // Fails only while the writer has this side, and then the sides have been swapped since.
            if let Some(tables) = side.try_read() {
                return read(&tables);
            }
            std::hint::spin_loop();
        }
    }

    fn write(&self, write: impl Fn(&mut Tables)) {
        let front = self.front.load(Ordering::Acquire);
        write(&mut self.sides[1 - front].write());
        self.front.store(1 - front, Ordering::Release);
        write(&mut self.sides[front].write());
    }
}

impl SharedStore for LeftRight {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.read(|tables| tables.get(key))
    }

    fn with_label(&self, key: &str, value: &str) -> Vec<Arc<Object>> {
        self.read(|tables| tables.with_label(key, value))
    }

    fn with_value(&self, value: &str) -> Vec<Arc<Object>> {
        self.read(|tables| tables.with_value(value))
    }

    fn scan(&self) -> usize {
        let all: Vec<Arc<Object>> = self.read(|tables| tables.all().cloned().collect());
        all.iter().map(|object| object.encoded.body.len()).sum()
    }

    fn put(&self, object: Object) {
        let object = Arc::new(object);
        self.write(|tables| tables.put(&object));
    }

    fn replace(&self, objects: Vec<Object>) {
        let new: Vec<Arc<Object>> = objects.into_iter().map(Arc::new).collect();
        self.write(|tables| *tables = new.iter().cloned().collect());
    }
}
