//! Page: a part of a list, and where the next one goes on.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Object, ObjectKey, ResourceVersion};

use super::order::{Entry, Standing};
use crate::envelope::Failure;

/// A part of a list.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) objects: Vec<Arc<Object>>,
    /// Where the next one goes on, and how many objects are left for it.
    pub(super) next: Option<(Place, usize)>,
}

/// The last object of a page: where it stands, and in which state of the cache that was.
#[derive(Debug)]
pub(super) struct Place {
    version: ResourceVersion,
    key: ObjectKey,
    value: Option<Box<str>>,
    list: u64,
}

/// A place as it is written; clients need not know.
#[derive(Serialize, Deserialize)]
struct Written {
    v: String,
    k: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<String>,
    l: u64,
}

/// A text that says no place.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no token of ours")]
pub(super) struct NoPlace;

impl Place {
    pub(super) fn of(last: &Entry, version: &ResourceVersion, list: u64) -> Self {
        let key = last.object.head.key().clone();
        Self { version: version.clone(), key, value: last.value.clone(), list }
    }

    pub(super) fn entry(&self) -> Standing<'_> {
        Standing { value: self.value.as_deref(), key: &self.key }
    }

    /// Whether it is one of this list, in a state that the cache has seen.
    pub(super) fn check(&self, now: &ResourceVersion, list: u64) -> Result<(), Failure> {
        if self.list != list {
            return Err(Failure::bad("continue: this token is of another list"));
        }
        match now.compare(&self.version) {
            Ok(order) if order.is_lt() => {
                let why = "continue: this token is of a state that is newer than the cache: begin again";
                Err(Failure::new(StatusCode::GONE, why))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn token(&self) -> String {
        let written = Written {
            v: self.version.to_string(),
            k: self.key.to_string(),
            s: self.value.as_deref().map(str::to_owned),
            l: self.list,
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&written).unwrap_or_default())
    }
}

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(token: &str) -> Result<Self, NoPlace> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| NoPlace)?;
        let written: Written = serde_json::from_slice(&bytes).map_err(|_| NoPlace)?;
        let key = written.k.parse().map_err(|_| NoPlace)?;
        Ok(Self {
            version: written.v.as_str().into(),
            key,
            value: written.s.map(Into::into),
            list: written.l,
        })
    }
}

/// Stands for what a list is of, so that a token of one is not taken for that of another.
pub(super) fn list_number<const N: usize>(mapping: &Mapping, said: [Option<&str>; N]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&mapping.resource, said).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again() {
        let place = Place {
            version: 7.into(),
            key: ObjectKey::namespaced("shop", "web-0"),
            value: Some("n1".into()),
            list: u64::MAX,
        };
        let read: Place = place.token().parse().unwrap_or_else(|_: NoPlace| panic!("it is a token of ours"));
        assert_eq!(
            (&read.version, &read.key, &read.value, read.list),
            (&place.version, &place.key, &place.value, place.list)
        );
        assert!(read.check(&7.into(), u64::MAX).is_ok());
        assert!(read.check(&8.into(), u64::MAX).is_ok());
        assert!(read.check(&6.into(), u64::MAX).is_err(), "the cache has not seen it yet");
        assert!(read.check(&8.into(), 1).is_err(), "it is of another list");
    }

    #[test]
    fn nothing_else_is_a_place() {
        for bad in ["x", "{}", "e30", "", "eyJ2IjoiNyIsImsiOiJhL2IvYyIsImwiOjB9", "\u{e9}"] {
            assert_eq!(bad.parse::<Place>().err(), Some(NoPlace), "{bad:?}");
        }
    }
}
