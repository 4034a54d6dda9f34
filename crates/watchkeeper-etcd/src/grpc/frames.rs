//! Frames: the length-prefixed messages of gRPC.
//!
//! Invariants:
//! - `frames.G1`: the messages do not depend on how the body is split into chunks.
//! - `frames.G2`: no memory is reserved for a message before its bytes arrive.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::codec::DecodeError;
use crate::error::Error;

/// One byte of flags and four bytes of length.
const HEAD: usize = 5;

/// Prefixes a message with its header.
pub(crate) fn frame(message: &[u8]) -> Result<Bytes, Error> {
    let length = u32::try_from(message.len())
        .map_err(|_| Error::TooLong { length: message.len(), limit: u32::MAX as usize })?;
    let mut frame = BytesMut::with_capacity(HEAD + message.len());
    frame.put_u8(0);
    frame.put_u32(length);
    frame.put_slice(message);
    Ok(frame.freeze())
}

/// A splitter of a body into messages.
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

    /// Takes the next complete message.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(&[flag, a, b, c, d]) = self.bytes.first_chunk::<HEAD>() else { return Ok(None) };
        if flag != 0 {
            return Err(DecodeError::Compressed.into());
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

    /// Returns whether a message is incomplete.
    pub(crate) fn is_partial(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_and_compressed_messages_are_rejected_by_their_header() {
        let mut frames = Frames::new(10);
        frames.push(b"\0\0\0\0\x0b");
        assert!(matches!(frames.next(), Err(Error::TooLong { length: 11, limit: 10 })));
        let mut frames = Frames::new(10);
        frames.push(b"\x01\0\0\0\x01x");
        assert!(matches!(frames.next(), Err(Error::Malformed(DecodeError::Compressed))));
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_chunks(
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
            prop_assert!(!frames.is_partial());
        }
    }
}
