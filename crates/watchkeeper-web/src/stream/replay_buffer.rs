//! Replay buffer: the last messages of a stream, for a client that reconnects (`stream.S3`).

use std::collections::VecDeque;
use std::sync::Arc;

use super::message::Message;
use super::{REPLAY_BYTES, REPLAY_MESSAGES};

/// The last messages, numbered from 1.
#[derive(Debug, Default)]
pub(super) struct ReplayBuffer {
    /// With the size of each.
    messages: VecDeque<(usize, Arc<Message>)>,
    bytes: usize,
    /// Number of the last message.
    last: u64,
}

/// The result of looking for the message after another.
#[derive(Debug)]
pub(super) enum Replay {
    /// Nothing yet.
    UpToDate,
    /// The next message and its number.
    Message(u64, Arc<Message>),
    /// The next message was dropped from the buffer.
    Gap,
}

impl ReplayBuffer {
    /// Numbers and stores a message.
    pub(super) fn push(&mut self, message: Message) {
        let size = message.size();
        self.messages.push_back((size, Arc::new(message)));
        self.bytes += size;
        self.last += 1;
        while self.messages.len() > 1 && (self.messages.len() > REPLAY_MESSAGES || self.bytes > REPLAY_BYTES)
        {
            if let Some((size, _)) = self.messages.pop_front() {
                self.bytes -= size;
            }
        }
    }

    /// Returns what follows the message with this number.
    pub(super) fn after(&self, sequence: u64) -> Replay {
        let first = self.last + 1 - self.messages.len() as u64;
        if sequence >= self.last {
            return Replay::UpToDate;
        }
        let Some(at) = (sequence + 1).checked_sub(first) else { return Replay::Gap };
        match usize::try_from(at).ok().and_then(|at| self.messages.get(at)) {
            Some((_, message)) => Replay::Message(sequence + 1, Arc::clone(message)),
            None => Replay::UpToDate,
        }
    }

    /// Returns the number of the last message; 0 if there was none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Drops all messages; numbering continues.
    pub(super) fn clear(&mut self) {
        self.messages = VecDeque::new();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Payload;
    use super::*;

    fn push(buffer: &mut ReplayBuffer, size: usize) {
        buffer.push(Message { sub: "a".into(), payload: Payload::Columns(" ".repeat(size).into()) });
    }

    /// Returns the numbers of all messages that follow.
    fn after(buffer: &ReplayBuffer, mut sequence: u64) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        loop {
            match buffer.after(sequence) {
                Replay::UpToDate => return Some(numbers),
                Replay::Message(number, _) => numbers.push(number),
                Replay::Gap => return None,
            }
            sequence += 1;
        }
    }

    #[test]
    fn messages_are_replayed_until_they_are_cleared() {
        let mut buffer = ReplayBuffer::default();
        assert_eq!(after(&buffer, 0), Some(vec![]));
        (0..3).for_each(|_| push(&mut buffer, 1));
        assert_eq!((after(&buffer, 0), after(&buffer, 2)), (Some(vec![1, 2, 3]), Some(vec![3])));
        buffer.clear();
        assert_eq!((after(&buffer, 3), after(&buffer, 2), buffer.last()), (Some(vec![]), None, 3));
        push(&mut buffer, 1);
        assert_eq!((after(&buffer, 3), after(&buffer, 2)), (Some(vec![4]), None));
    }

    #[test]
    fn number_and_size_are_bounded_except_for_the_last_message() {
        let mut buffer = ReplayBuffer::default();
        let many = REPLAY_MESSAGES as u64 + 5;
        (0..many).for_each(|_| push(&mut buffer, 1));
        assert_eq!(
            (after(&buffer, 4), after(&buffer, 5).map(|all| all.len())),
            (None, Some(REPLAY_MESSAGES))
        );
        push(&mut buffer, REPLAY_BYTES / 2);
        push(&mut buffer, REPLAY_BYTES / 2);
        assert_eq!((after(&buffer, many), after(&buffer, many + 1)), (None, Some(vec![many + 2])));
        push(&mut buffer, 2 * REPLAY_BYTES);
        assert_eq!(after(&buffer, many + 2), Some(vec![many + 3]));
    }
}
