//! Held: what was sent lately, for who comes back and has not got all of it (T3).

use std::collections::VecDeque;
use std::sync::Arc;

use super::message::Message;
use super::{HELD_BYTES, HELD_MESSAGES};

/// The last messages, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// With the size of each.
    messages: VecDeque<(usize, Arc<Message>)>,
    bytes: usize,
    /// The number of the last message.
    last: u64,
}

/// What follows a message.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing yet.
    Nothing,
    /// This one, of this number.
    Held(u64, Arc<Message>),
    /// One that is not held any more.
    Forgotten,
}

impl Held {
    /// Numbers a message and holds it.
    pub(super) fn push(&mut self, message: Message) {
        let size = message.size();
        self.messages.push_back((size, Arc::new(message)));
        self.bytes += size;
        self.last += 1;
        while self.messages.len() > 1 && (self.messages.len() > HELD_MESSAGES || self.bytes > HELD_BYTES) {
            if let Some((size, _)) = self.messages.pop_front() {
                self.bytes -= size;
            }
        }
    }

    /// What follows the message of this number, which was sent.
    pub(super) fn after(&self, sequence: u64) -> Next {
        let first = self.last + 1 - self.messages.len() as u64;
        if sequence >= self.last {
            return Next::Nothing;
        }
        let Some(at) = (sequence + 1).checked_sub(first) else { return Next::Forgotten };
        match usize::try_from(at).ok().and_then(|at| self.messages.get(at)) {
            Some((_, message)) => Next::Held(sequence + 1, Arc::clone(message)),
            None => Next::Nothing,
        }
    }

    /// The number of the last message; 0 if there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Nobody wants what was sent up to now.
    pub(super) fn forget(&mut self) {
        self.messages = VecDeque::new();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::What;
    use super::*;

    fn push(held: &mut Held, size: usize) {
        held.push(Message { sub: "a".into(), what: What::Columns(" ".repeat(size).into()) });
    }

    /// The numbers of what follows.
    fn after(held: &Held, mut sequence: u64) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        loop {
            match held.after(sequence) {
                Next::Nothing => return Some(numbers),
                Next::Held(number, _) => numbers.push(number),
                Next::Forgotten => return None,
            }
            sequence += 1;
        }
    }

    #[test]
    fn what_follows_is_there_until_it_is_forgotten() {
        let mut held = Held::default();
        assert_eq!(after(&held, 0), Some(vec![]));
        (0..3).for_each(|_| push(&mut held, 1));
        assert_eq!((after(&held, 0), after(&held, 2)), (Some(vec![1, 2, 3]), Some(vec![3])));
        held.forget();
        assert_eq!((after(&held, 3), after(&held, 2), held.last()), (Some(vec![]), None, 3));
        push(&mut held, 1);
        assert_eq!((after(&held, 3), after(&held, 2)), (Some(vec![4]), None));
    }

    #[test]
    fn it_is_bounded_by_number_and_by_size_but_for_the_last() {
        let mut held = Held::default();
        let many = HELD_MESSAGES as u64 + 5;
        (0..many).for_each(|_| push(&mut held, 1));
        assert_eq!((after(&held, 4), after(&held, 5).map(|all| all.len())), (None, Some(HELD_MESSAGES)));
        push(&mut held, HELD_BYTES / 2);
        push(&mut held, HELD_BYTES / 2);
        assert_eq!((after(&held, many), after(&held, many + 1)), (None, Some(vec![many + 2])));
        push(&mut held, 2 * HELD_BYTES);
        assert_eq!(after(&held, many + 2), Some(vec![many + 3]));
    }
}
