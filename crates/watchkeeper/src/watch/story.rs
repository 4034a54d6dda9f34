//! Story: what has happened, told event by event.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::block_in_place;
use watchkeeper_cache::Sink;
use watchkeeper_core::{Bookmark, EventKind, Head, Object, ObjectKey, ResourceVersion};

use crate::stdout::WriteError;

/// Writes an event.
pub(crate) trait Tell: Send {
    /// Whether more than the head of an object is written.
    fn needs_bodies(&self) -> bool;

    /// Writes one event, which may stay in a buffer.
    fn tell(&mut self, kind: EventKind, object: &Object) -> io::Result<()>;

    /// Writes what is in the buffer.
    fn flush(&mut self) -> io::Result<()>;
}

/// Tells of changes as they come, and of what a list shows to have changed (V1, V2).
pub(crate) struct Story<T> {
    tell: T,
    /// What has been told of each object: its last state, or its head alone.
    known: BTreeMap<ObjectKey, Object>,
    /// `None` for what stays as it is known.
    staged: BTreeMap<ObjectKey, Option<Object>>,
    /// Why nothing more can be told.
    failed: Option<io::Error>,
    is_enough: Arc<Notify>,
}

impl<T: Tell> Story<T> {
    /// A story that says when it is enough: nobody reads it any more.
    pub(crate) fn new(tell: T, is_enough: Arc<Notify>) -> Self {
        Self { tell, known: BTreeMap::new(), staged: BTreeMap::new(), failed: None, is_enough }
    }

    /// Whether all could be told. A reader that has gone away wanted no more, which is no error.
    pub(crate) fn outcome(self) -> Result<(), WriteError> {
        match self.failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn tell(&mut self, kind: EventKind, object: &Object) {
        if self.failed.is_none() {
            let told = self.tell.tell(kind, object);
            self.check(told);
        }
    }

    fn flush(&mut self) {
        if self.failed.is_none() {
            let flushed = self.tell.flush();
            self.check(flushed);
        }
    }

    fn check(&mut self, told: io::Result<()>) {
        if let Err(error) = told {
            self.failed = Some(error);
            self.is_enough.notify_one();
        }
    }

    /// Tells how an object differs from what is known of it, and knows it now.
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

    /// Tells how what was staged differs from what is known, and knows it now.
    fn tell_list(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        let known = std::mem::take(&mut self.known);
        for (key, last) in known {
            match staged.contains_key(&key) {
                true => drop(self.known.insert(key, last)),
                false => self.tell(EventKind::Deleted, &last),
            }
        }
        for object in staged.into_values().flatten() {
            self.learn(object);
        }
        self.flush();
    }
}

/// Who writes may be held up, and then does not hold up whoever else is of this runtime.
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

    /// Remembers what it was told, until it has been told so often.
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

    /// An object called `name`, or `name#uid`.
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
    fn a_list_that_comes_again_tells_what_has_changed() {
        let mut story = story();
        list(&mut story, 10, &[("a", 1), ("b", 2), ("c#1", 3)]);
        story.put(object("b", 11));
        story.tell.lines.clear();
        list(&mut story, 20, &[("b", 11), ("c#2", 12), ("d", 13)]);
        assert_eq!(story.tell.lines, ["DELETED a@1", "DELETED c@3", "ADDED c@12", "ADDED d@13"]);
    }

    #[test]
    fn nothing_is_told_twice() {
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
    fn a_list_that_does_not_end_is_not_told() {
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
    fn a_reader_that_goes_away_ends_the_story_without_an_error() {
        let is_enough = Arc::new(Notify::new());
        let memory = Memory { broken_after: Some(1), ..Memory::default() };
        let mut story = Story::new(memory, is_enough.clone());
        list(&mut story, 10, &[("a", 1), ("b", 2), ("c", 3)]);
        assert_eq!(story.tell.lines, ["ADDED a@1"]);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(is_enough.notified());
        assert!(story.outcome().is_ok());
    }
}
