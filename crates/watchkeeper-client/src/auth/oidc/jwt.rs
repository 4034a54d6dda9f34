//! The expiry of a JWT. The signature is left to the server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Returns `exp` in seconds since 1970, 0 if the claim is missing, and `None` if `token` is not a JWT.
pub(super) fn expiry(token: &str) -> Option<i64> {
    let mut parts = token.split('.');
    let (Some(_header), Some(claims), Some(_signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    match claims.as_object()?.get("exp") {
        None | Some(Value::Null) => Some(0),
        Some(Value::Number(number)) => number.as_i64().or_else(|| number.as_f64().map(|it| it as i64)),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn the_exp_claim_is_read() {
        for (claims, expected) in [
            (r#"{"exp":1700000000}"#, Some(1_700_000_000)),
            (r#"{"exp":1.7e9,"sub":"x"}"#, Some(1_700_000_000)),
            (r#"{"exp":1700000000.9}"#, Some(1_700_000_000)),
            (r#"{"exp":-5}"#, Some(-5)),
            (r#"{"exp":1e300}"#, Some(i64::MAX)),
            (r#"{"exp":18446744073709551615}"#, Some(i64::MAX)),
            (r#"{"exp":null}"#, Some(0)),
            ("{}", Some(0)),
            (r#"{"exp":"soon"}"#, None),
            ("[]", None),
            ("", None),
        ] {
            assert_eq!(expiry(&token(claims)), expected, "{claims}");
        }
        for text in ["", "a.b", "a.e30.c.d", "a.!.c", "e30"] {
            assert_eq!(expiry(text), None, "{text}");
        }
        assert_eq!(expiry("a.e30.c"), Some(0));
        assert_eq!(expiry("a.e30=.c"), None, "padding is not allowed");
    }

    proptest! {
        #[test]
        fn no_input_panics(text in "\\PC*|[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]*") {
            let _ = expiry(&text);
        }

        #[test]
        fn every_number_is_read(exp: i64, fraction in proptest::num::f64::NORMAL) {
            prop_assert_eq!(expiry(&token(&serde_json::json!({"exp": exp}).to_string())), Some(exp));
            let inexact = token(&serde_json::json!({"exp": fraction}).to_string());
            prop_assert!(expiry(&inexact).is_some());
        }
    }
}
