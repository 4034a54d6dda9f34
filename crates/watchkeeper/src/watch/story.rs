//! Change printer: compares what the reflector delivers with what was printed, and prints the differences.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::block_in_place;
use watchkeeper_cache::Sink;
use watchkeeper_core::{Bookmark, EventKind, Head, Object, ObjectKey, ResourceVersion};

use crate::stdout::WriteError;

/// Writes watch events.
pub(crate) trait Tell: Send {
    /// Returns whether more than the metadata of an object is written.
    fn needs_bodies(&self) -> bool;

    /// Writes one event, possibly to a buffer.
    fn tell(&mut self, kind: EventKind, object: &Object) -> io::Result<()>;

    /// Flushes the buffer.
    fn flush(&mut self) -> io::Result<()>;
}

/// Prints watch events as they arrive, and the differences that a relist shows (`watch.W1`, `watch.W2`).
pub(crate) struct Story<T> {
    tell: T,
    /// The last printed state of each object: whole, or metadata only.
    known: BTreeMap<ObjectKey, Object>,
    /// Objects of the list in progress; `None` for an object that is unchanged.
    staged: BTreeMap<ObjectKey, Option<Object>>,
    /// The write error that ended the output.
    failed: Option<io::Error>,
    is_enough: Arc<Notify>,
}

impl<T: Tell> Story<T> {
    /// Creates a printer that notifies `is_enough` when standard output can no longer be written to.
    pub(crate) fn new(tell: T, is_enough: Arc<Notify>) -> Self {
        Self { tell, known: BTreeMap::new(), staged: BTreeMap::new(), failed: None, is_enough }
    }

    /// Returns the write error, if any. A closed pipe is not an error.
    pub(crate) fn outcome(self) -> Result<(), WriteError> {
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn tell(&mut self, kind: EventKind, object: &Object) {
        if self.failed.is_none() {
            let written = self.tell.tell(kind, object);
            self.check(written);
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            let flushed = self.tell.flush();
            self.check(flushed);
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed = Some(error);
            self.is_enough.notify_one();
        }
    }

    /// Prints the difference to the known state of an object, and records the new state.
    fn learn(&mut self, mut object: Object) {
        match self.known.remove(object.head.key()) {
            None => self.tell(EventKind::Added, &object),
            Some(known) if known.head.uid() != object.head.uid() => {
                self.tell(EventKind::Deleted, &known);
                self.tell(EventKind::Added, &object);
            }
            Some(known) if known.head.version() == object.head.version() => {}
            Some(_) => self.tell(EventKind::Modified, &object),
        }
        if !self.tell.needs_bodies() {
            object.encoded.body = Box::default();
        }
        self.known.insert(object.head.key().clone(), object);
    }

    /// Prints the differences between the staged list and the known objects, and records the list.
    fn tell_list(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        let known = std::mem::take(&mut self.known);
        for (key, last) in known {
            if staged.contains_key(&key) {
                self.known.insert(key, last);
            } else {
                self.tell(EventKind::Deleted, &last);
            }
        }
        for object in staged.into_values().flatten() {
            self.learn(object);
        }
        self.flush();
    }
}

/// Writes inside `block_in_place`, so that a slow reader does not block other tasks of the runtime.
impl<T: Tell> Sink for Story<T> {
    fn begin(&mut self) {
        self.staged.clear();
    }

    fn stage(&mut self, object: Object) {
        self.staged.insert(object.head.key().clone(), Some(object));
    }

    fn stage_as_it_was(&mut self, key: &ObjectKey) {
        self.staged.insert(key.clone(), None);
    }

    fn unstage(&mut self, key: &ObjectKey) {
        self.staged.remove(key);
    }

    fn commit(&mut self, _: ResourceVersion) {
        block_in_place(|| self.tell_list());
    }

    fn put(&mut self, object: Object) {
        block_in_place(|| {
            self.learn(object);
            self.flush();
        });
    }

    fn delete(&mut self, last: Object) {
        if self.known.remove(last.head.key()).is_some() {
            block_in_place(|| {
                self.tell(EventKind::Deleted, &last);
                self.flush();
            });
        }
    }

    fn delete_unseen(&mut self, last: &Head) {
        if let Some(last) = self.known.get(last.key()).cloned() {
            self.delete(last);
        }
    }

    fn bookmark(&mut self, _: &Bookmark) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchkeeper_core::{Encoded, HeadBuilder};

    /// Records events; optionally fails after a number of them.
    #[derive(Default)]
    struct Memory {
        lines: Vec<String>,
        broken_after: Option<usize>,
    }

    impl Tell for Memory {
        fn needs_bodies(&self) -> bool {
            true
        }

        fn tell(&mut self, kind: EventKind, object: &Object) -> io::Result<()> {
            if self.broken_after == Some(self.lines.len()) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.lines.push(format!("{kind} {}@{}", object.head.key(), object.head.version()));
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Creates an object called `name`, or `name#uid`.
    fn object(name: &str, version: u64) -> Object {
        let (name, uid) = name.split_once('#').unwrap_or((name, "u"));
        let head = HeadBuilder::default().name(name).version(&version.to_string()).uid(uid).finish();
        Object { head, encoded: Encoded::json(*b"{}") }
    }

    fn list(story: &mut Story<Memory>, version: u64, objects: &[(&str, u64)]) {
        story.begin();
        for (name, version) in objects {
            story.stage(object(name, *version));
        }
        story.commit(version.into());
    }

    fn story() -> Story<Memory> {
        Story::new(Memory::default(), Arc::default())
    }

    #[test]
    fn relist_prints_the_differences() {
        let mut story = story();
        list(&mut story, 10, &[("a", 1), ("b", 2), ("c#1", 3)]);
        story.put(object("b", 11));
        story.tell.lines.clear();
        list(&mut story, 20, &[("b", 11), ("c#2", 12), ("d", 13)]);
        assert_eq!(story.tell.lines, ["DELETED a@1", "DELETED c@3", "ADDED c@12", "ADDED d@13"]);
    }

    #[test]
    fn no_event_is_printed_twice() {
        let mut story = story();
        list(&mut story, 10, &[("a", 1)]);
        story.put(object("a", 1));
        story.put(object("a", 2));
        story.put(object("a", 2));
        story.delete(object("a", 3));
        story.delete(object("a", 3));
        assert_eq!(story.tell.lines, ["ADDED a@1", "MODIFIED a@2", "DELETED a@3"]);
    }

    #[test]
    fn unfinished_list_prints_nothing() {
        let mut story = story();
        list(&mut story, 10, &[("a", 1)]);
        story.begin();
        story.stage(object("b", 2));
        story.begin();
        story.stage(object("c", 3));
        story.unstage(object("c", 3).head.key());
        story.stage_as_it_was(object("a", 1).head.key());
        story.commit(20.into());
        assert_eq!(story.tell.lines, ["ADDED a@1"]);
    }

    #[test]
    fn closed_pipe_ends_the_output_without_an_error() {
        let is_enough = Arc::new(Notify::new());
        let memory = Memory { broken_after: Some(1), ..Memory::default() };
        let mut story = Story::new(memory, is_enough.clone());
        list(&mut story, 10, &[("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(story.tell.lines, ["ADDED a@1"]);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(is_enough.notified());
        assert!(story.outcome().is_ok());
    }
}
