//! Headers of requests to the web service: `Host`, `Origin` and `Cookie`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_web::access::{COOKIE, cookie};
use watchkeeper_web::guard::{Authority, Host, Hosts, Origin};

/// Formats a host and port as in a header.
fn format_authority(authority: &Authority) -> String {
    match authority.port {
        Some(port) => format!("{}:{port}", authority.host),
        None => authority.host.to_string(),
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(authority) = Authority::parse(text) {
        assert_eq!(
            Authority::parse(&format_authority(&authority)).as_ref(),
            Some(&authority),
            "a formatted authority parses"
        );
        // By default only the local host is allowed, by name or by address.
        if Hosts::default().contains(&authority.host) {
            match &authority.host {
                Host::Name(name) => assert_eq!(name, "localhost"),
                Host::Address(address) => assert!(address.is_loopback()),
            }
        }
        // The http crate parses the same host, if both accept the text.
        if let Ok(theirs) = text.parse::<http::uri::Authority>() {
            assert!(!theirs.as_str().contains('@'));
            let same = Authority::parse(theirs.host()).map(|authority| authority.host);
            assert_eq!(same.as_ref(), Some(&authority.host));
        }
        let origin = Origin { secure: false, authority: authority.clone() };
        assert!(origin.is_of(&authority, false) && !origin.is_of(&authority, true));
    }
    if let Some(origin) = Origin::parse(text) {
        let scheme = if origin.secure { "https" } else { "http" };
        assert_eq!(
            Origin::parse(&format!("{scheme}://{}", format_authority(&origin.authority))),
            Some(origin)
        );
    }
    if let Some(value) = cookie(text) {
        assert!(!value.contains(';'));
        assert_eq!(cookie(&format!("a=b; {COOKIE}={value}; c=d")), Some(value));
        assert_eq!(cookie(&format!("{COOKIE}={value}; {text}")), None, "a repeated cookie is rejected");
    }
});
