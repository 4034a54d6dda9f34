//! Gzip: a body in pieces, compressed while the client reads it.
//!
//! Invariants:
//! - `gzip.Z1`: the compressor, which is larger than most pieces, exists only once the client has read the header, and
//!   is charged to the [`Budget`].

use std::io::Write as _;

use bytes::Bytes;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use watchkeeper_core::Status;
use watchkeeper_listen::{Budget, Charge};

use super::pieces::Growing;

/// A gzip header that only specifies the fastest compression.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

/// The memory of a compressor in bytes.
const COMPRESSOR_BYTES: usize = 320 << 10;

/// A compressed body.
pub(super) struct Gzip {
    plain: Growing,
    budget: Budget,
    state: State,
}

enum State {
    Header,
    Begun,
    Deflating(Box<Deflating>),
    Ended,
}

struct Deflating {
    encoder: DeflateEncoder<Vec<u8>>,
    crc: Crc,
    _charge: Charge,
}

impl Gzip {
    pub(super) fn new(plain: Growing, budget: Budget) -> Self {
        Self { plain, budget, state: State::Header }
    }

    /// Returns the next compressed bytes; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Status> {
        let mut deflating = match std::mem::replace(&mut self.state, State::Ended) {
            State::Header => {
                self.state = State::Begun;
                return Ok(Some(Bytes::from_static(&HEADER)));
            }
            State::Begun => Box::new(Deflating {
                encoder: DeflateEncoder::new(Vec::new(), Compression::fast()),
                crc: Crc::new(),
                _charge: self.budget.charge_now(COMPRESSOR_BYTES), // gzip.Z1
            }),
            State::Deflating(deflating) => deflating,
            State::Ended => return Ok(None),
        };
        while let Some(piece) = self.plain.next()? {
            deflating.crc.update(&piece);
            deflating.encoder.write_all(&piece).map_err(Status::internal_error)?;
            let compressed = std::mem::take(deflating.encoder.get_mut());
            if !compressed.is_empty() {
                self.state = State::Deflating(deflating);
                return Ok(Some(compressed.into()));
            }
        }
        let Deflating { encoder, crc, .. } = *deflating;
        let mut end = encoder.finish().map_err(Status::internal_error)?;
        end.extend_from_slice(&crc.sum().to_le_bytes());
        end.extend_from_slice(&crc.amount().to_le_bytes());
        Ok(Some(end.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;

    #[test]
    fn compressed_bytes_are_those_of_a_plain_gzip_encoder() {
        for length in [0, 1, 100_000, 1_000_000] {
            let plain: Vec<u8> = (0..length).map(|at: usize| ((at * at) >> 7) as u8 % 61).collect();
            let mut gzip = Gzip::new(Growing::new(Box::new(Bytes::from(plain.clone()))), Budget::default());
            let mut compressed = Vec::new();
            while let Some(bytes) = gzip.next().unwrap() {
                compressed.extend_from_slice(&bytes);
            }
            let mut expected = GzEncoder::new(Vec::new(), Compression::fast());
            expected.write_all(&plain).unwrap();
            assert_eq!(compressed, expected.finish().unwrap(), "{length} bytes");
        }
    }

    #[test]
    fn an_unread_body_holds_no_compressor() {
        let budget = Budget::default();
        let noise = (0..1u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8); // hard to compress
        let noise: Bytes = noise.collect();
        let mut gzip = Gzip::new(Growing::new(Box::new(noise)), budget.clone());
        assert_eq!(gzip.next().unwrap().unwrap().len(), HEADER.len());
        assert_eq!(budget.used(), 0, "gzip.Z1");
        gzip.next().unwrap();
        assert_eq!(budget.used(), COMPRESSOR_BYTES, "gzip.Z1");
        while gzip.next().unwrap().is_some() {}
        assert_eq!(budget.used(), 0);
    }
}
