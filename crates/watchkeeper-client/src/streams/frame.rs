//! Frames: channel messages of the remote command protocols.
//!
//! The first byte of a message is its channel. In protocols with half-close, 255 is not a channel: the byte after it
//! names a channel that has been closed.

use bytes::{BufMut as _, Bytes, BytesMut};

/// The first byte of a message that closes a channel.
const CLOSE: u8 = 255;

/// A channel message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of a channel; empty when the stream starts.
    Data(u8, Bytes),
    /// The channel is closed.
    Close(u8),
}

impl Frame {
    /// Decodes a message. `can_close` is whether the protocol supports half-close; without it, 255 is an ordinary
    /// channel.
    ///
    /// # Errors
    /// If the message is invalid.
    pub fn decode(message: &Bytes, can_close: bool) -> Result<Self, &'static str> {
        match (message.first(), message.len()) {
            (None, _) => Err("message has no channel"),
            (Some(&CLOSE), 2) if can_close => Ok(Self::Close(message[1])),
            (Some(&CLOSE), _) if can_close => Err("invalid close message"),
            (Some(&channel), _) => Ok(Self::Data(channel, message.slice(1..))),
        }
    }

    /// Encodes the frame as a message.
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
        assert_eq!(decode(b"", true), Err("message has no channel"));
    }

    #[test]
    fn only_protocols_with_half_close_can_close_a_channel() {
        assert_eq!(decode(b"\xff\x00", true), Ok(Frame::Close(0)));
        assert_eq!(decode(b"\xff\x00", false), Ok(Frame::Data(255, Bytes::from_static(b"\0"))));
        assert!(decode(b"\xff", true).is_err());
        assert!(decode(b"\xff\x00\x00", true).is_err());
    }

    proptest::proptest! {
        #[test]
        fn frames_survive_a_round_trip(channel in 0u8..255, bytes: Vec<u8>) {
            for frame in [Frame::Data(channel, bytes.into()), Frame::Close(channel)] {
                assert_eq!(Frame::decode(&frame.encode(), true), Ok(frame));
            }
        }
    }
}
