//! Frames: how gRPC puts messages into a body, and how they come out again.
//!
//! - G1: in whatever pieces a body comes, the messages are the same.
//! - G2: nothing is set aside for a message before its bytes are there.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::codec::Malformed;
use crate::error::Error;

/// A flag, and a length of four bytes.
const HEAD: usize = 5;

/// A message as it is sent.
pub(crate) fn frame(message: &[u8]) -> Result<Bytes, Error> {
    let length = u32::try_from(message.len())
        .map_err(|_| Error::TooLong { length: message.len(), limit: u32::MAX as usize })?;
    let mut frame = BytesMut::with_capacity(HEAD + message.len());
    frame.put_u8(0);
    frame.put_u32(length);
    frame.put_slice(message);
    Ok(frame.freeze())
}

/// What has come of a body.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: BytesMut,
    limit: usize,
}

impl Frames {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: BytesMut::new(), limit }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if all of it is there.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(&[flag, a, b, c, d]) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        if flag != 0 {
            return Err(Malformed::Compressed.into());
        }
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > self.limit {
            return Err(Error::TooLong { length, limit: self.limit });
        }
        if self.bytes.len() - HEAD < length {
            return Ok(None);
        }
        self.bytes.advance(HEAD);
        Ok(Some(self.bytes.split_to(length).freeze()))
    }

    /// Whether a message has begun and not ended.
    pub(crate) fn is_amid(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_and_compressed_messages_are_refused_by_their_first_bytes() {
        let mut frames = Frames::new(10);
        frames.push(b"\0\0\0\0\x0b");
        assert!(matches!(frames.next(), Err(Error::TooLong { length: 11, limit: 10 })));
        let mut frames = Frames::new(10);
        frames.push(b"\x01\0\0\0\x01x");
        assert!(matches!(frames.next(), Err(Error::Malformed(Malformed::Compressed))));
    }

    proptest! {
        #[test]
        fn messages_are_the_same_in_any_pieces(
            messages in proptest::collection::vec(any::<Vec<u8>>(), 0..5),
            piece in 1usize..20,
        ) {
            let body: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
            let mut frames = Frames::new(1000);
            let mut read = Vec::new();
            for piece in body.chunks(piece) {
                frames.push(piece);
                while let Some(message) = frames.next().unwrap() {
                    read.push(message.to_vec());
                }
            }
            prop_assert_eq!(read, messages);
            prop_assert!(!frames.is_amid());
        }
    }
}
