//! What every answer says to browsers (G3).

use http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue};

const OURS: &str = "default-src 'self'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; \
                    base-uri 'none'; form-action 'none'";
/// What comes through the proxy can be a page of some pod's: it must not act as ours.
const THEIRS: &str =
    "sandbox; default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Whose words an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Ours.
    Ours,
    /// The API server's, or those of somebody behind it.
    Theirs,
}

/// Adds what protects an answer, and whoever reads it.
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
