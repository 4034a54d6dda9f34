//! Tokens of requests: header and cookie.

use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE as COOKIES};
use watchkeeper_client::Secret;

/// The cookie that holds a token.
pub const COOKIE: &str = "watchkeeper_token";

/// Maximum length of a token, in bytes. Browsers limit cookies to 4 KiB.
const TOKEN_BYTES: usize = 16 << 10;
/// Maximum length of a token in a cookie, in bytes.
const COOKIE_BYTES: usize = 4000;

/// Returns the token of a request: from `Authorization`, or else from the cookie. Duplicates are rejected.
pub(super) fn token(headers: &HeaderMap) -> Option<Secret> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let token = match given.next() {
        Some(value) if given.next().is_none() => bearer(value.to_str().ok()?)?,
        Some(_) => return None,
        None => {
            let mut found = headers.get_all(COOKIES).iter().filter_map(|value| cookie(value.to_str().ok()?));
            let first = found.next()?;
            found.next().is_none().then_some(first)?
        }
    };
    (!token.is_empty() && token.len() <= TOKEN_BYTES).then(|| token.into())
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns the value of [`COOKIE`] in a `Cookie` header. Duplicates are rejected: one of them may be injected.
pub fn cookie(header: &str) -> Option<&str> {
    let pairs = header.split(';').filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Formats a `Set-Cookie` header that sets or removes the token; `None` if the token cannot be in a cookie.
pub(super) fn set_cookie(token: Option<&Secret>) -> Option<String> {
    let rest = "Path=/; HttpOnly; Secure; SameSite=Strict";
    let Some(token) = token else { return Some(format!("{COOKIE}=; Max-Age=0; {rest}")) };
    let token = token.reveal();
    let legal = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
    let fits = !token.is_empty() && token.len() <= COOKIE_BYTES && token.bytes().all(legal);
    fits.then(|| format!("{COOKIE}={token}; {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn found(lines: &[(&'static str, &'static str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        token(&headers).map(|token| token.reveal().to_owned())
    }

    #[test]
    fn tokens_are_read_from_header_or_cookie() {
        assert_eq!(found(&[("authorization", "Bearer abc")]).unwrap(), "abc");
        assert_eq!(found(&[("authorization", "bearer  abc ")]).unwrap(), "abc");
        assert_eq!(found(&[("cookie", "a=b; watchkeeper_token=x.y=z; c=d")]).unwrap(), "x.y=z");
        assert_eq!(found(&[("cookie", "a=b"), ("cookie", "watchkeeper_token=t")]).unwrap(), "t");
        let both = [("authorization", "Bearer one"), ("cookie", "watchkeeper_token=two")];
        assert_eq!(found(&both).unwrap(), "one");
    }

    #[test]
    fn invalid_and_duplicate_tokens_are_rejected() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("authorization", "Basic abc"), ("cookie", "watchkeeper_token=two")]), None);
        assert_eq!(found(&[("authorization", "Bearer ")]), None);
        assert_eq!(found(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]), None);
        assert_eq!(found(&[("cookie", "watchkeeper_token=")]), None);
        assert_eq!(found(&[("cookie", "watchkeeper_token=a; watchkeeper_token=b")]), None);
        assert_eq!(found(&[("cookie", "watchkeeper_token=a"), ("cookie", "watchkeeper_token=b")]), None);
        assert_eq!(
            found(&[("cookie", "xwatchkeeper_token=a; watchkeeper_tokens=b; watchkeeper_token")]),
            None
        );
    }

    #[test]
    fn tokens_cannot_inject_cookie_attributes() {
        let set = |token: &str| set_cookie(Some(&token.into()));
        assert_eq!(
            set("a.b-c_d=").unwrap(),
            "watchkeeper_token=a.b-c_d=; Path=/; HttpOnly; Secure; SameSite=Strict"
        );
        for token in ["", "a; Domain=evil.example", "a b", "a\r\nb", "a,b", "\"", "\u{e9}"] {
            assert_eq!(set(token), None, "{token:?}");
        }
        assert_eq!(set(&"a".repeat(5000)), None);
    }
}
