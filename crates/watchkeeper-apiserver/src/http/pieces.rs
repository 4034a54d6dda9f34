//! Pieces: a response body that is encoded while the client reads it.
//!
//! Input: a list, or a body that is complete.
//! Output: [`Outgoing`](super::respond::Outgoing), which asks for the next piece when the one before is written.

use bytes::Bytes;
use watchkeeper_core::Status;

/// About how long the first piece after the beginning is. Each one after it is twice as long as the one before, so
/// that a client that reads nothing costs little and one that reads fast gets large pieces.
const FIRST_BYTES: usize = 16 << 10;

/// About how long pieces get.
const MOST_BYTES: usize = 64 << 10;

/// A body that is encoded piece by piece.
///
/// The first piece should be short: a connection takes it before it knows whether the client reads at all.
pub(crate) trait Pieces: Send {
    /// Returns the next piece, of about `bytes` bytes or of one element where that is longer; `None` after the last.
    ///
    /// # Errors
    /// Where an element cannot be encoded. The response breaks off then.
    fn next(&mut self, bytes: usize) -> Result<Option<Bytes>, Status>;
}

/// A body that is complete.
impl Pieces for Bytes {
    fn next(&mut self, bytes: usize) -> Result<Option<Bytes>, Status> {
        let piece = self.split_to(bytes.min(self.len()));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}

/// Pieces that get longer.
pub(super) struct Growing {
    pieces: Box<dyn Pieces>,
    bytes: usize,
}

impl Growing {
    pub(super) fn new(pieces: Box<dyn Pieces>) -> Self {
        Self { pieces, bytes: FIRST_BYTES }
    }

    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Status> {
        let piece = self.pieces.next(self.bytes)?;
        self.bytes = (self.bytes * 2).min(MOST_BYTES);
        Ok(piece)
    }

    /// All that is left, in one piece.
    pub(super) fn collect(mut self) -> Result<Bytes, Status> {
        let mut all = Vec::new();
        while let Some(piece) = self.next()? {
            all.extend_from_slice(&piece);
        }
        Ok(all.into())
    }
}
