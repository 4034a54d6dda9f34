//! Lease messages.

use bytes::Bytes;

use super::Header;
use crate::codec::{Decode, DecodeError, Encode, Writer, fields};

/// A lease that was granted or renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Lease {
    /// Header of the response.
    pub header: Header,
    /// Identifier.
    pub id: i64,
    /// Remaining time to live, in seconds. etcd may grant more than requested.
    pub ttl: i64,
}

impl Decode for Lease {
    fn decode(message: Bytes) -> Result<Self, DecodeError> {
        let mut lease = Self::default();
        fields(message, |number, value| {
            match number {
                1 => lease.header = value.message()?,
                2 => lease.id = value.int(),
                3 => lease.ttl = value.int(),
                _ => {}
            }
            Ok(())
        })?;
        Ok(lease)
    }
}

/// A grant; etcd chooses the identifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseGrantRequest {
    pub(crate) ttl: i64,
}

impl Encode for LeaseGrantRequest {
    fn encode(&self, out: &mut Writer) {
        out.int(1, self.ttl);
    }
}

/// A revocation or a renewal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseId(pub(crate) i64);

impl Encode for LeaseId {
    fn encode(&self, out: &mut Writer) {
        out.int(1, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encode;

    #[test]
    fn lease_messages_match_etcds_encoding() {
        assert_eq!(encode(&LeaseGrantRequest { ttl: 60 }), b"\x08\x3c"[..]);
        assert_eq!(encode(&LeaseId(7)), b"\x08\x07"[..]);
        let lease = Lease::decode(Bytes::from_static(b"\x0a\x02\x18\x05\x10\x07\x18\x3c")).unwrap();
        assert_eq!((lease.header.revision, lease.id, lease.ttl), (5, 7, 60));
    }
}
