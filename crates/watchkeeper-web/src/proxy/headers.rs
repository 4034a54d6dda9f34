//! Header rules of the proxy (`proxy.P2`, `proxy.P3`).

use http::header::{
    ACCEPT_CHARSET, AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, HeaderName, ORIGIN, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, REFERER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};
use watchkeeper_client::Secret;

/// Hop-by-hop headers.
const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// Headers that are only for this service.
const OURS: [HeaderName; 6] = [HOST, COOKIE, ORIGIN, REFERER, EXPECT, ACCEPT_CHARSET];
/// Prefix of headers by which an authenticating proxy asserts an identity. Never forwarded.
const ASSERTED_IDENTITY: &str = "x-remote-";
/// Prefix of impersonation headers.
const IMPERSONATION: &str = "impersonate-";

/// Removes hop-by-hop headers, including those named in `Connection`.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let agreed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in agreed.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Returns the headers to forward, and whether the request has credentials of its own: the user's token or its
/// `Authorization` header.
pub(super) fn forwarded(mut headers: HeaderMap, token: Option<&Secret>) -> (HeaderMap, bool) {
    let protocol = headers.get(UPGRADE).cloned();
    remove_hop_by_hop(&mut headers);
    for name in &OURS {
        headers.remove(name);
    }
    if let Some(protocol) = protocol {
        headers.insert(UPGRADE, protocol);
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    if let Some(token) = token {
        headers.remove(AUTHORIZATION);
        if let Ok(mut value) = HeaderValue::try_from(format!("Bearer {}", token.reveal())) {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
    }
    let own = token.is_some() || headers.contains_key(AUTHORIZATION);
    let unwanted: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            name.as_str().starts_with(ASSERTED_IDENTITY) || !own && name.as_str().starts_with(IMPERSONATION)
        })
        .cloned()
        .collect();
    for name in unwanted {
        headers.remove(name);
    }
    (headers, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        lines.sort();
        lines
    }

    #[test]
    fn hop_by_hop_headers_are_removed() {
        let mut headers = headers(&[
            ("connection", "keep-alive, X-Private"),
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("x-private", "1"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("content-type", "application/json"),
        ]);
        remove_hop_by_hop(&mut headers);
        assert_eq!(shown(&headers), ["content-type: application/json"]);
    }

    #[test]
    fn requests_without_a_token_cannot_impersonate() {
        let sent = headers(&[
            ("host", "localhost"),
            ("cookie", "watchkeeper_token=secret"),
            ("impersonate-user", "admin"),
            ("impersonate-group", "system:masters"),
            ("impersonate-extra-scope", "all"),
            ("x-remote-user", "admin"),
            ("accept", "application/json"),
        ]);
        let (headers, own) = forwarded(sent, None);
        assert_eq!((shown(&headers), own), (vec!["accept: application/json".to_owned()], false));
    }

    #[test]
    fn requests_with_a_token_use_it() {
        let sent = headers(&[
            ("authorization", "Bearer a"),
            ("impersonate-user", "her"),
            ("x-remote-user", "admin"),
        ]);
        let (forwarded_headers, own) = forwarded(sent, None);
        assert_eq!(shown(&forwarded_headers), ["authorization: Bearer a", "impersonate-user: her"]);
        assert!(own);

        let by_cookie = headers(&[("cookie", "watchkeeper_token=b")]);
        let (forwarded_headers, own) = forwarded(by_cookie, Some(&"b".into()));
        assert_eq!(shown(&forwarded_headers), ["authorization: Bearer b"]);
        assert!(own);
    }

    #[test]
    fn upgrades_are_forwarded() {
        let sent = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "x"),
        ]);
        let (headers, _) = forwarded(sent, None);
        assert_eq!(shown(&headers), ["connection: Upgrade", "sec-websocket-key: x", "upgrade: websocket"]);
    }
}
