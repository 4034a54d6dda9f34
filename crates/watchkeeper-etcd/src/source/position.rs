//! Resource versions, and continue tokens of lists.

use bytes::Bytes;
use watchkeeper_core::{ResourceVersion, Status};

/// Converts a revision to a resource version. Revisions are never negative.
pub(super) fn version(revision: i64) -> ResourceVersion {
    ResourceVersion::from(u64::try_from(revision).unwrap_or(0))
}

/// Converts a resource version to a revision; "0" and the empty version are 0.
pub(super) fn revision(version: &ResourceVersion) -> Result<i64, Status> {
    match version.as_u64().map(i64::try_from) {
        Some(Ok(revision)) => Ok(revision),
        _ if version.is_empty() => Ok(0),
        _ => Err(Status::bad_request(format!("invalid resource version {version}: not an etcd revision"))),
    }
}

/// A continue token: the revision of the list, and the first key of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) revision: i64,
    pub(super) from: Bytes,
}

impl Token {
    /// Formats `REVISION.KEY`, the key in hexadecimal.
    pub(super) fn encode(&self) -> String {
        let digits =
            |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[digit as usize]));
        let key: String = self.from.iter().copied().flat_map(digits).collect();
        format!("{}.{key}", self.revision)
    }

    /// Parses a token. Rejects one that is outside the prefix.
    pub(super) fn parse(text: &str, prefix: &[u8]) -> Result<Self, Status> {
        let read = || {
            let (revision, key) = text.split_once('.')?;
            let revision = revision.parse().ok().filter(|revision| *revision > 0)?;
            let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
            let pairs = key.as_bytes().chunks(2);
            let key: Option<Bytes> = pairs
                .map(|pair| match pair {
                    [high, low] => Some(digit(high)? << 4 | digit(low)?),
                    _ => None,
                })
                .collect();
            key.filter(|key| key.starts_with(prefix)).map(|from| Self { revision, from })
        };
        read().ok_or_else(|| Status::bad_request("invalid continue token: not of this collection"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn foreign_tokens_are_rejected() {
        let encoded = Token { revision: 7, from: "/pods/a\0".into() }.encode();
        assert_eq!(encoded, "7.2f706f64732f6100");
        assert!(Token::parse(&encoded, b"/pods/").is_ok());
        for text in
            ["", "7", "7.", "0.2f", "-7.2f706f64732f61", "x.2f", "7.2", "7.zz", "7.2f61", "7.\u{20ac}"]
        {
            assert!(Token::parse(text, b"/pods/").unwrap_err().is_bad_request(), "{text}");
        }
    }

    #[test]
    fn resource_versions_are_revisions() {
        assert_eq!(revision(&version(12)), Ok(12));
        assert_eq!(revision(&"".into()), Ok(0));
        assert_eq!(revision(&"0".into()), Ok(0));
        for text in ["abc", "-1", "18446744073709551615", "99999999999999999999999"] {
            assert!(revision(&text.into()).is_err(), "{text}");
        }
        assert_eq!(version(-5), ResourceVersion::ANY);
    }

    proptest! {
        #[test]
        fn tokens_survive_a_round_trip(revision in 1i64.., key: Vec<u8>) {
            let token = Token { revision, from: key.into() };
            prop_assert_eq!(Token::parse(&token.encode(), b""), Ok(token));
        }
    }
}
