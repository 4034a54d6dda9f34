//! Pages of a list and continue tokens.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Object, ObjectKey, ResourceVersion};

use super::order::{Entry, SortPosition};
use crate::envelope::Failure;

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) objects: Vec<Arc<Object>>,
    /// Position of the next page, and the number of remaining objects.
    pub(super) next: Option<(Continue, usize)>,
}

/// Position of the last object of a page, and the resource version of the cache at that time.
#[derive(Debug)]
pub(super) struct Continue {
    version: ResourceVersion,
    key: ObjectKey,
    value: Option<Box<str>>,
    list: u64,
}

/// Content of a continue token; opaque to clients.
#[derive(Serialize, Deserialize)]
struct TokenContent {
    v: String,
    k: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<String>,
    l: u64,
}

/// An invalid continue token.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid token")]
pub(super) struct InvalidToken;

impl Continue {
    pub(super) fn of(last: &Entry, version: &ResourceVersion, list: u64) -> Self {
        let key = last.object.metadata.key().clone();
        Self { version: version.clone(), key, value: last.value.clone(), list }
    }

    pub(super) fn entry(&self) -> SortPosition<'_> {
        SortPosition { value: self.value.as_deref(), key: &self.key }
    }

    /// Checks that the token belongs to this list, and is not newer than the cache.
    pub(super) fn check(&self, now: &ResourceVersion, list: u64) -> Result<(), Failure> {
        if self.list != list {
            return Err(Failure::bad_request("continue: token belongs to another list"));
        }
        match now.compare(&self.version) {
            Ok(order) if order.is_lt() => {
                let why = "continue: token is newer than the cache; list again from the start";
                Err(Failure::new(StatusCode::GONE, why))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn token(&self) -> String {
        let written = TokenContent {
            v: self.version.to_string(),
            k: self.key.to_string(),
            s: self.value.as_deref().map(str::to_owned),
            l: self.list,
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&written).unwrap_or_default())
    }
}

impl FromStr for Continue {
    type Err = InvalidToken;

    fn from_str(token: &str) -> Result<Self, InvalidToken> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| InvalidToken)?;
        let written: TokenContent = serde_json::from_slice(&bytes).map_err(|_| InvalidToken)?;
        let key = written.k.parse().map_err(|_| InvalidToken)?;
        Ok(Self {
            version: written.v.as_str().into(),
            key,
            value: written.s.map(Into::into),
            list: written.l,
        })
    }
}

/// Returns a hash of the list's parameters, so that a token is not used for another list.
pub(super) fn list_hash<const N: usize>(mapping: &Mapping, query: [Option<&str>; N]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&mapping.resource, query).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip() {
        let place = Continue {
            version: 7.into(),
            key: ObjectKey::namespaced("shop", "web-0"),
            value: Some("n1".into()),
            list: u64::MAX,
        };
        let read: Continue =
            place.token().parse().unwrap_or_else(|_: InvalidToken| panic!("valid token rejected"));
        assert_eq!(
            (&read.version, &read.key, &read.value, read.list),
            (&place.version, &place.key, &place.value, place.list)
        );
        assert!(read.check(&7.into(), u64::MAX).is_ok());
        assert!(read.check(&8.into(), u64::MAX).is_ok());
        assert!(read.check(&6.into(), u64::MAX).is_err(), "token is newer than the cache");
        assert!(read.check(&8.into(), 1).is_err(), "token belongs to another list");
    }

    #[test]
    fn invalid_tokens_are_rejected() {
        for bad in ["x", "{}", "e30", "", "eyJ2IjoiNyIsImsiOiJhL2IvYyIsImwiOjB9", "\u{e9}"] {
            assert_eq!(bad.parse::<Continue>().err(), Some(InvalidToken), "{bad:?}");
        }
    }
}
