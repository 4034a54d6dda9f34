//! Security headers of responses (`guard.G3`).

use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};

const OURS: &str = "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; \
                    base-uri 'none'; form-action 'none'";
/// A proxied response can be a page of some pod: it must not run in our origin.
const THEIRS: &str =
    "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The origin of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// This service.
    Ours,
    /// The API server, or something behind it.
    Theirs,
}

/// Sets the security headers of a response.
pub(crate) fn protect(headers: &mut HeaderMap, content: Content) {
    let policy = match content {
        Content::Ours => OURS,
        Content::Theirs => {
            headers.remove(SET_COOKIE);
            let cors: Vec<HeaderName> =
                headers.keys().filter(|name| name.as_str().starts_with("access-control-")).cloned().collect();
            for name in cors {
                headers.remove(name);
            }
            THEIRS
        }
    };
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
}
