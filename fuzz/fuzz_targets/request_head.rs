//! What is read by hand of the head of a request to the web service: `Host`, `Origin`, `Cookie`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use watchkeeper_web::access::{COOKIE, cookie};
use watchkeeper_web::guard::{Host, Hosts, Origin, Place};

/// A host and port as they would be written.
fn written(place: &Place) -> String {
    match place.port {
        Some(port) => format!("{}:{port}", place.host),
        None => place.host.to_string(),
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Some(place) = Place::parse(text) {
        assert_eq!(Place::parse(&written(&place)).as_ref(), Some(&place), "what is read is written");
        // Whoever is let in is this machine, by name or by address.
        if Hosts::default().has(&place.host) {
            match &place.host {
                Host::Name(name) => assert_eq!(name, "localhost"),
                Host::Address(address) => assert!(address.is_loopback()),
            }
        }
        // What the http crate takes for an authority has the same host, where both can read it.
        if let Ok(authority) = text.parse::<http::uri::Authority>() {
            assert!(!authority.as_str().contains('@'));
            let same = Place::parse(authority.host()).map(|place| place.host);
            assert_eq!(same.as_ref(), Some(&place.host));
        }
        let origin = Origin { secure: false, place: place.clone() };
        assert!(origin.is_of(&place, false) && !origin.is_of(&place, true));
    }
    if let Some(origin) = Origin::parse(text) {
        let scheme = if origin.secure { "https" } else { "http" };
        assert_eq!(Origin::parse(&format!("{scheme}://{}", written(&origin.place))), Some(origin));
    }
    if let Some(value) = cookie(text) {
        assert!(!value.contains(';'));
        assert_eq!(cookie(&format!("a=b; {COOKIE}={value}; c=d")), Some(value));
        assert_eq!(cookie(&format!("{COOKIE}={value}; {text}")), None, "two are none");
    }
});
