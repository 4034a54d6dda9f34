//! Headers that go on, and those that do not (P2, P3).

use http::header::{
    ACCEPT_CHARSET, AUTHORIZATION, CONNECTION, COOKIE, EXPECT, HOST, HeaderName, ORIGIN, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, REFERER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};
use watchkeeper_client::Secret;

/// What is between two parties on a connection.
const HOPS: [HeaderName; 9] = [
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
/// What is between a browser, or another client, and us.
const OURS: [HeaderName; 6] = [HOST, COOKIE, ORIGIN, REFERER, EXPECT, ACCEPT_CHARSET];
/// How a proxy says to an API server who asks. We are none that it would believe, or should.
const CLAIMS: &str = "x-remote-";
/// How somebody says that they act as somebody else.
const ACTS_AS: &str = "impersonate-";

/// Removes what is between two parties on a connection, and whatever they have agreed on besides.
pub(super) fn remove_hops(headers: &mut HeaderMap) {
    let agreed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in agreed.iter().chain(&HOPS) {
        headers.remove(name);
    }
}

/// The headers of a request on its way to the API server, and whether it has credentials of its own: those of a user,
/// or what it came with.
pub(super) fn onward(mut headers: HeaderMap, token: Option<&Secret>) -> (HeaderMap, bool) {
    let protocol = headers.get(UPGRADE).cloned();
    remove_hops(&mut headers);
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
        .filter(|name| name.as_str().starts_with(CLAIMS) || !own && name.as_str().starts_with(ACTS_AS))
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
    fn what_is_between_two_parties_stays_there() {
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
        remove_hops(&mut headers);
        assert_eq!(shown(&headers), ["content-type: application/json"]);
    }

    #[test]
    fn who_brings_no_token_is_nobody_else() {
        let sent = headers(&[
            ("host", "localhost"),
            ("cookie", "watchkeeper_token=secret"),
            ("impersonate-user", "admin"),
            ("impersonate-group", "system:masters"),
            ("impersonate-extra-scope", "all"),
            ("x-remote-user", "admin"),
            ("accept", "application/json"),
        ]);
        let (headers, own) = onward(sent, None);
        assert_eq!((shown(&headers), own), (vec!["accept: application/json".to_owned()], false));
    }

    #[test]
    fn who_brings_a_token_acts_by_it() {
        let sent = headers(&[
            ("authorization", "Bearer a"),
            ("impersonate-user", "her"),
            ("x-remote-user", "admin"),
        ]);
        let (onward_headers, own) = onward(sent, None);
        assert_eq!(shown(&onward_headers), ["authorization: Bearer a", "impersonate-user: her"]);
        assert!(own);

        let by_cookie = headers(&[("cookie", "watchkeeper_token=b")]);
        let (onward_headers, own) = onward(by_cookie, Some(&"b".into()));
        assert_eq!(shown(&onward_headers), ["authorization: Bearer b"]);
        assert!(own);
    }

    #[test]
    fn another_protocol_is_asked_for_in_our_name() {
        let sent = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "x"),
        ]);
        let (headers, _) = onward(sent, None);
        assert_eq!(shown(&headers), ["connection: Upgrade", "sec-websocket-key: x", "upgrade: websocket"]);
    }
}
