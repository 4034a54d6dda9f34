//! Message cache: the protobuf encodings of recently listed objects.
//!
//! Input: a protobuf list, which adds the messages that it had to encode.
//! Output: the next protobuf list. Objects are stored as JSON, and transcoding one takes ten times as long as sending
//! it; often several informers list the same objects.
//!
//! Invariants:
//! - `messages.M1`: a message is cached under the revision of its object. A revision belongs to one object
//!   (`store.T1`), so a message is never of another state.
//! - `messages.M2`: there are two generations of at most [`GENERATION_BYTES`] each. A used message moves to the
//!   younger one; the older one is dropped when the younger is full, and at every [`age`](Messages::age).

use std::collections::HashMap;

use crate::store::Revision;
use bytes::Bytes;
use parking_lot::Mutex;

/// Maximum size of a generation in bytes: the messages of 30,000 pods.
pub const GENERATION_BYTES: usize = 64 << 20;

/// The overhead of a message in bytes.
const ENTRY_BYTES: usize = 64;

/// The cache, shared by all lists.
#[derive(Debug, Default)]
pub struct Messages {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    young: Generation,
    old: Generation,
}

#[derive(Debug, Default)]
struct Generation {
    messages: HashMap<Revision, Bytes>,
    bytes: usize,
}

impl Messages {
    /// Returns the cached messages of these revisions.
    pub(super) fn find(&self, revisions: impl Iterator<Item = Revision>) -> Vec<Option<Bytes>> {
        let mut dropped = Vec::new(); // declared before the lock, and so freed after it
        let mut state = self.state.lock();
        revisions
            .map(|revision| {
                if let Some(message) = state.young.messages.get(&revision) {
                    return Some(message.clone());
                }
                let message = state.old.take(revision)?;
                dropped.extend(state.put(revision, message.clone()));
                Some(message)
            })
            .collect()
    }

    /// Adds messages to the cache.
    pub(super) fn keep(&self, messages: Vec<(Revision, Bytes)>) {
        let mut dropped = Vec::new(); // freed after the lock is released
        let mut state = self.state.lock();
        for (revision, message) in messages {
            dropped.extend(state.put(revision, message));
        }
        drop(state);
    }

    /// Drops messages that were not used since the previous call.
    pub(crate) fn age(&self) {
        let dropped = self.state.lock().age();
        drop(dropped);
    }
}

impl State {
    fn put(&mut self, revision: Revision, message: Bytes) -> Option<Generation> {
        let bytes = message.len() + ENTRY_BYTES;
        let full = self.young.bytes + bytes > GENERATION_BYTES; // messages.M2
        let dropped = full.then(|| self.age());
        if bytes <= GENERATION_BYTES && self.young.messages.insert(revision, message).is_none() {
            self.young.bytes += bytes;
        }
        dropped
    }

    fn age(&mut self) -> Generation {
        let young = std::mem::take(&mut self.young);
        std::mem::replace(&mut self.old, young)
    }
}

impl Generation {
    fn take(&mut self, revision: Revision) -> Option<Bytes> {
        let message = self.messages.remove(&revision)?;
        self.bytes -= message.len() + ENTRY_BYTES;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(messages: &Messages, revisions: &[u64]) -> Vec<bool> {
        let found = messages.find(revisions.iter().map(|number| Revision::new(*number)));
        found.iter().map(Option::is_some).collect()
    }

    fn message(bytes: usize) -> Bytes {
        vec![0; bytes].into()
    }

    #[test]
    fn used_messages_stay_and_others_expire() {
        let messages = Messages::default();
        messages.keep([1, 2].map(|number| (Revision::new(number), message(10))).into());
        messages.age();
        assert_eq!(found(&messages, &[1, 3]), [true, false]);
        messages.age();
        assert_eq!(found(&messages, &[1, 2]), [true, false]);
        for _ in 0..2 {
            messages.age();
        }
        assert_eq!(found(&messages, &[1]), [false]);
    }

    #[test]
    fn the_cache_is_bounded() {
        let messages = Messages::default();
        for number in 0..20 {
            messages.keep(vec![(Revision::new(number), message(GENERATION_BYTES / 4))]);
            let state = messages.state.lock();
            for generation in [&state.young, &state.old] {
                let bytes: usize =
                    generation.messages.values().map(|message| message.len() + ENTRY_BYTES).sum();
                assert_eq!(bytes, generation.bytes, "messages.M2");
                assert!(bytes <= GENERATION_BYTES, "messages.M2");
            }
        }
        assert_eq!(found(&messages, &[19, 0]), [true, false]);
        messages.keep(vec![(Revision::new(99), message(GENERATION_BYTES + 1))]);
        assert_eq!(found(&messages, &[99]), [false]);
    }
}
