//! Continue tokens: the position of the next page.
//!
//! A token is JSON in unpadded URL-safe base64, and opaque to clients.

use crate::store::Revision;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use serde::{Deserialize, Serialize};

/// The start of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContinueToken {
    /// The revision of the previous page; `None` continues at the newest, inconsistently.
    pub at: Option<Revision>,
    /// The first key, relative to the collection or its namespace.
    pub start: String,
}

/// The reason that a token is invalid, following `invalid continue token: ` in a 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It was not created by this server.
    #[error("continue key is not valid: {0}")]
    Malformed(String),
    /// It has an unknown version.
    #[error("continue key is not valid: server does not recognize this encoded version {0}")]
    Version(String),
    /// Its revision is invalid.
    #[error("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")]
    Revision,
    /// It has no start key.
    #[error("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")]
    NoStart,
    /// Its key points outside the collection.
    #[error("continue key is not valid: {0}")]
    Path(String),
}

const VERSION: &str = "meta.k8s.io/v1";

#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl ContinueToken {
    /// Returns the encoded token.
    pub fn encode(&self) -> String {
        let rv = self.at.map_or(-1, |at| i64::try_from(at.get()).unwrap_or(i64::MAX));
        let wire = Wire { v: VERSION.to_owned(), rv, start: self.start.clone() };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).expect("strings and numbers can be encoded"))
    }

    /// Decodes a token.
    ///
    /// # Errors
    /// Fails if the token is invalid.
    pub fn decode(text: &str) -> Result<Self, TokenError> {
        let bytes =
            URL_SAFE_NO_PAD.decode(text).map_err(|error| TokenError::Malformed(no_base64(&error, text)))?;
        let wire: Wire =
            serde_json::from_slice(&bytes).map_err(|error| TokenError::Malformed(no_json(&error, &bytes)))?;
        if wire.v != VERSION {
            return Err(TokenError::Version(wire.v));
        }
        if wire.start.is_empty() {
            return Err(TokenError::NoStart);
        }
        let bad_part = |part: &str| matches!(part, "" | "." | "..");
        if wire.start.trim_start_matches('/').split('/').any(bad_part) {
            return Err(TokenError::Path(wire.start));
        }
        let at = match wire.rv {
            0 => return Err(TokenError::Revision),
            rv => u64::try_from(rv).ok().map(Revision::new),
        };
        Ok(Self { at, start: wire.start.trim_start_matches('/').to_owned() })
    }
}

/// Describes a base64 error in Go's words.
fn no_base64(error: &DecodeError, text: &str) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        _ => text.len().saturating_sub(1), // a single leftover character
    };
    format!("illegal base64 data at input byte {at}")
}

/// Describes a JSON error in Go's words, as far as possible.
fn no_json(error: &serde_json::Error, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.trim_start().chars().next() {
        Some(first) if !error.is_eof() && error.is_syntax() && first != '{' => {
            format!("invalid character '{first}' looking for beginning of value")
        }
        _ if error.is_eof() => "unexpected end of JSON input".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_token_round_trips_in_kube_apiservers_format() {
        let token = ContinueToken { at: Some(Revision::new(312)), start: "k1\0".to_owned() };
        let plain = URL_SAFE_NO_PAD.decode(token.encode()).unwrap();
        assert_eq!(plain, br#"{"v":"meta.k8s.io/v1","rv":312,"start":"k1\u0000"}"#);
        assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        let newest = ContinueToken { at: None, start: "k1\0".to_owned() };
        assert!(String::from_utf8(URL_SAFE_NO_PAD.decode(newest.encode()).unwrap()).unwrap().contains("-1"));
        assert_eq!(ContinueToken::decode(&newest.encode()), Ok(newest));
    }

    #[test]
    fn keys_outside_the_collection_are_refused() {
        for start in ["../x", "a//b", "a/../b", "/", "", "./a"] {
            let token = ContinueToken { at: None, start: start.to_owned() };
            assert!(ContinueToken::decode(&token.encode()).is_err(), "{start}");
        }
    }

    #[test]
    fn an_invalid_token_is_refused_in_upstream_words() {
        let error = |text: &str| ContinueToken::decode(text).unwrap_err().to_string();
        assert_eq!(error("bogus!"), "continue key is not valid: illegal base64 data at input byte 5");
        assert_eq!(
            error("e30"),
            "continue key is not valid: server does not recognize this encoded version "
        );
        assert_eq!(error("x"), "continue key is not valid: illegal base64 data at input byte 0");
        let x = URL_SAFE_NO_PAD.encode("x");
        assert_eq!(
            error(&x),
            "continue key is not valid: invalid character 'x' looking for beginning of value"
        );
    }

    proptest! {
        #[test]
        fn decoding_any_text_never_panics(text in ".{0,60}") {
            let _ = ContinueToken::decode(&text);
        }
    }
}
