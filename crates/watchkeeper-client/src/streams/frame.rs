//! Frames: what one message says, and on which channel.
//!
//! The first byte of a message is the number of a channel and the rest is for it. Where the protocol knows
//! half-closing, the number 255 is none: the byte behind it names a channel that has nothing more to say.

use bytes::{BufMut as _, Bytes, BytesMut};

/// Where the number of a channel should be: the next byte is a channel that ends.
const CLOSE: u8 = 255;

/// What one message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of a channel. There may be none: that says only that the stream has begun.
    Data(u8, Bytes),
    /// A channel has ended.
    Close(u8),
}

impl Frame {
    /// Reads a message. `can_close` is whether the protocol knows half-closing; where it does not, 255 is a
    /// channel like any other.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(message: &Bytes, can_close: bool) -> Result<Self, &'static str> {
        match (message.first(), message.len()) {
            (None, _) => Err("a message has no channel"),
            (Some(&CLOSE), 2) if can_close => Ok(Self::Close(message[1])),
            (Some(&CLOSE), _) if can_close => Err("a message does not say which channel has ended"),
            (Some(&channel), _) => Ok(Self::Data(channel, message.slice(1..))),
        }
    }

    /// The message that says this.
    pub fn encode(&self) -> Bytes {
        match self {
            Self::Data(channel, bytes) => {
                let mut message = BytesMut::with_capacity(bytes.len() + 1);
                message.put_u8(*channel);
                message.extend_from_slice(bytes);
                message.freeze()
            }
            Self::Close(channel) => Bytes::copy_from_slice(&[CLOSE, *channel]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(message: &'static [u8], can_close: bool) -> Result<Frame, &'static str> {
        Frame::decode(&Bytes::from_static(message), can_close)
    }

    #[test]
    fn the_first_byte_is_the_channel() {
        assert_eq!(decode(b"\x01out", true), Ok(Frame::Data(1, "out".into())));
        assert_eq!(decode(b"\x02", false), Ok(Frame::Data(2, Bytes::new())));
        assert_eq!(decode(b"", true), Err("a message has no channel"));
    }

    #[test]
    fn only_the_newer_protocol_can_close_a_channel() {
        assert_eq!(decode(b"\xff\x00", true), Ok(Frame::Close(0)));
        assert_eq!(decode(b"\xff\x00", false), Ok(Frame::Data(255, Bytes::from_static(b"\0"))));
        assert!(decode(b"\xff", true).is_err());
        assert!(decode(b"\xff\x00\x00", true).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read(channel in 0u8..255, bytes: Vec<u8>) {
            for frame in [Frame::Data(channel, bytes.into()), Frame::Close(channel)] {
                assert_eq!(Frame::decode(&frame.encode(), true), Ok(frame));
            }
        }
    }
}
