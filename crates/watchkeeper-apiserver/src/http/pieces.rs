//! Response bodies that are encoded piece by piece while the client reads them.
//!
//! Input: a list, or a body that is complete.
//! Output: [`Outgoing`](super::outgoing::Outgoing), which requests a piece once the previous one is written.

use bytes::Bytes;
use watchkeeper_core::Status;

/// Approximate size of the first piece after the beginning, in bytes. Each further piece is twice as long, so that a
/// client that reads nothing costs little and a fast one gets large pieces.
const FIRST_BYTES: usize = 16 << 10;

/// Approximate maximum size of a piece, in bytes.
const MOST_BYTES: usize = 64 << 10;

/// A body that is encoded piece by piece.
///
/// The first piece should be short: the connection takes it before knowing whether the client reads at all.
pub(crate) trait Pieces: Send {
    /// Returns the next piece, of about `bytes` bytes or one element if that is longer; `None` after the last.
    ///
    /// # Errors
    /// Fails if an element cannot be encoded. The response is then aborted.
    fn next(&mut self, bytes: usize) -> Result<Option<Bytes>, Status>;
}

/// A body that is complete.
impl Pieces for Bytes {
    fn next(&mut self, bytes: usize) -> Result<Option<Bytes>, Status> {
        let piece = self.split_to(bytes.min(self.len()));
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }
}

/// Pieces of increasing size.
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

    /// Returns the rest in one piece.
    pub(super) fn collect(mut self) -> Result<Bytes, Status> {
        let mut all = Vec::new();
        while let Some(piece) = self.next()? {
            all.extend_from_slice(&piece);
        }
        Ok(all.into())
    }
}
