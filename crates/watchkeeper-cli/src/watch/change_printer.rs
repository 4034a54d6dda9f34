//! Change printer: compares what the reflector delivers with what was printed, and prints the differences.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::block_in_place;
use watchkeeper_cache::Sink;
use watchkeeper_core::{Bookmark, Object, ObjectKey, ObjectMeta, ResourceVersion, WatchEventType};

use crate::stdout::WriteError;

/// A writer of watch events.
pub(crate) trait WriteEvent: Send {
    /// Returns whether more than the metadata of an object is written.
    fn needs_bodies(&self) -> bool;

    /// Writes one event, possibly to a buffer.
    fn write(&mut self, kind: WatchEventType, object: &Object) -> io::Result<()>;

    /// Flushes the buffer.
    fn flush(&mut self) -> io::Result<()>;
}

/// A printer of watch events as they arrive, and of the differences after a relist (`cli_watch.W1`, `cli_watch.W2`).
pub(crate) struct ChangePrinter<T> {
    writer: T,
    /// The last printed state of each object: whole, or metadata only.
    known: BTreeMap<ObjectKey, Object>,
    /// Objects of the list in progress; `None` for an object that is unchanged.
    staged: BTreeMap<ObjectKey, Option<Object>>,
    /// The write error that ended the output.
    failed: Option<io::Error>,
    is_closed: Arc<Notify>,
}

impl<T: WriteEvent> ChangePrinter<T> {
    /// Creates a printer that notifies `is_closed` when standard output can no longer be written to.
    pub(crate) fn new(writer: T, is_closed: Arc<Notify>) -> Self {
        Self { writer, known: BTreeMap::new(), staged: BTreeMap::new(), failed: None, is_closed }
    }

    /// Returns the write error, if any. A closed pipe is not an error.
    pub(crate) fn outcome(self) -> Result<(), WriteError> {
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn print(&mut self, kind: WatchEventType, object: &Object) {
        if self.failed.is_none() {
            let written = self.writer.write(kind, object);
            self.check(written);
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            let flushed = self.writer.flush();
            self.check(flushed);
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed = Some(error);
            self.is_closed.notify_one();
        }
    }

    /// Prints the difference to the known state of an object, and records the new state.
    fn update(&mut self, mut object: Object) {
        match self.known.remove(object.metadata.key()) {
            None => self.print(WatchEventType::Added, &object),
            Some(known) if known.metadata.uid() != object.metadata.uid() => {
                self.print(WatchEventType::Deleted, &known);
                self.print(WatchEventType::Added, &object);
            }
            Some(known) if known.metadata.resource_version() == object.metadata.resource_version() => {}
            Some(_) => self.print(WatchEventType::Modified, &object),
        }
        if !self.writer.needs_bodies() {
            object.encoded.body = Box::default();
        }
        self.known.insert(object.metadata.key().clone(), object);
    }

    /// Prints the differences between the staged list and the known objects, and records the list.
    fn print_list(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        let known = std::mem::take(&mut self.known);
        for (key, last) in known {
            if staged.contains_key(&key) {
                self.known.insert(key, last);
            } else {
                self.print(WatchEventType::Deleted, &last);
            }
        }
        for object in staged.into_values().flatten() {
            self.update(object);
        }
        self.flush();
    }
}

/// Writes inside `block_in_place`, so that a slow reader does not block other tasks of the runtime.
impl<T: WriteEvent> Sink for ChangePrinter<T> {
    fn begin(&mut self) {
        self.staged.clear();
    }

    fn stage(&mut self, object: Object) {
        self.staged.insert(object.metadata.key().clone(), Some(object));
    }

    fn stage_as_it_was(&mut self, key: &ObjectKey) {
        self.staged.insert(key.clone(), None);
    }

    fn unstage(&mut self, key: &ObjectKey) {
        self.staged.remove(key);
    }

    fn commit(&mut self, _: ResourceVersion) {
        block_in_place(|| self.print_list());
    }

    fn put(&mut self, object: Object) {
        block_in_place(|| {
            self.update(object);
            self.flush();
        });
    }

    fn delete(&mut self, last: Object) {
        if self.known.remove(last.metadata.key()).is_some() {
            block_in_place(|| {
                self.print(WatchEventType::Deleted, &last);
                self.flush();
            });
        }
    }

    fn delete_unseen(&mut self, last: &ObjectMeta) {
        if let Some(last) = self.known.get(last.key()).cloned() {
            self.delete(last);
        }
    }

    fn bookmark(&mut self, _: &Bookmark) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, ObjectMetaBuilder};

    /// A writer that records events, and can fail after a number of them.
    #[derive(Default)]
    struct Memory {
        lines: Vec<String>,
        broken_after: Option<usize>,
    }

    impl WriteEvent for Memory {
        fn needs_bodies(&self) -> bool {
            true
        }

        fn write(&mut self, kind: WatchEventType, object: &Object) -> io::Result<()> {
            if self.broken_after == Some(self.lines.len()) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.lines.push(format!(
                "{kind} {}@{}",
                object.metadata.key(),
                object.metadata.resource_version()
            ));
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Creates an object called `name`, or `name#uid`.
    fn object(name: &str, version: u64) -> Object {
        let (name, uid) = name.split_once('#').unwrap_or((name, "u"));
        let head = ObjectMetaBuilder::default().name(name).version(&version.to_string()).uid(uid).finish();
        Object { metadata: head, encoded: Encoded::json(*b"{}") }
    }

    fn list(changes: &mut ChangePrinter<Memory>, version: u64, objects: &[(&str, u64)]) {
        changes.begin();
        for (name, version) in objects {
            changes.stage(object(name, *version));
        }
        changes.commit(version.into());
    }

    fn changes() -> ChangePrinter<Memory> {
        ChangePrinter::new(Memory::default(), Arc::default())
    }

    #[test]
    fn relist_prints_the_differences() {
        let mut changes = changes();
        list(&mut changes, 10, &[("a", 1), ("b", 2), ("c#1", 3)]);
        changes.put(object("b", 11));
        changes.writer.lines.clear();
        list(&mut changes, 20, &[("b", 11), ("c#2", 12), ("d", 13)]);
        assert_eq!(changes.writer.lines, ["DELETED a@1", "DELETED c@3", "ADDED c@12", "ADDED d@13"]);
    }

    #[test]
    fn no_event_is_printed_twice() {
        let mut changes = changes();
        list(&mut changes, 10, &[("a", 1)]);
        changes.put(object("a", 1));
        changes.put(object("a", 2));
        changes.put(object("a", 2));
        changes.delete(object("a", 3));
        changes.delete(object("a", 3));
        assert_eq!(changes.writer.lines, ["ADDED a@1", "MODIFIED a@2", "DELETED a@3"]);
    }

    #[test]
    fn unfinished_list_prints_nothing() {
        let mut changes = changes();
        list(&mut changes, 10, &[("a", 1)]);
        changes.begin();
        changes.stage(object("b", 2));
        changes.begin();
        changes.stage(object("c", 3));
        changes.unstage(object("c", 3).metadata.key());
        changes.stage_as_it_was(object("a", 1).metadata.key());
        changes.commit(20.into());
        assert_eq!(changes.writer.lines, ["ADDED a@1"]);
    }

    #[test]
    fn closed_pipe_ends_the_output_without_an_error() {
        let is_closed = Arc::new(Notify::new());
        let memory = Memory { broken_after: Some(1), ..Memory::default() };
        let mut changes = ChangePrinter::new(memory, is_closed.clone());
        list(&mut changes, 10, &[("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(changes.writer.lines, ["ADDED a@1"]);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(is_closed.notified());
        assert!(changes.outcome().is_ok());
    }
}
