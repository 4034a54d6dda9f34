//! Invalid responses.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use watchkeeper_client::Client;
use watchkeeper_client::rest::RequestError;
use watchkeeper_client::transport::BodyError;
use watchkeeper_core::StatusReason as Reason;

use super::scripted::{Act, Scripted, response};
use super::{core, with_cause};

const LIMIT: u64 = 1 << 20;
/// Upper bound for data buffered in sockets.
const SOCKETS: usize = 32 << 20;

async fn send(act: Act) -> RequestError {
    let server = Scripted::start(vec![act]).await;
    let get = core(&server.config()).get().namespace("ns").resource("pods").name("a");
    let error = match get.send().await {
        Ok(response) => response.into::<Value>().unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(server.requests(), 1, "{error}");
    assert_eq!(error.request(), "GET /api/v1/namespaces/ns/pods/a");
    error
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

const GZIP: &str = "content-type: application/json\r\ncontent-encoding: gzip\r\n";

#[tokio::test]
async fn truncated_or_corrupt_gzip_is_always_an_error() {
    let whole = gzipped(br#"{"kind":"Pod"}"#);
    let server = Scripted::start(vec![response(200, GZIP, &whole)]).await;
    let read = core(&server.config()).get().resource("pods").send().await.unwrap();
    assert_eq!(read.into::<Value>().unwrap()["kind"], "Pod");

    for cut in [1, 9, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        let error = send(response(200, GZIP, &whole[..cut])).await;
        assert!(matches!(error, RequestError::Body { .. }), "{cut}: {error:?}");
        let expected = "GET /api/v1/namespaces/ns/pods/a failed: invalid gzip data in the response";
        assert_eq!(with_cause(&error), expected, "{cut}");
        assert!(error.may_have_happened());
    }
    let mut broken = whole.clone();
    *broken.last_mut().unwrap() ^= 1; // corrupts the length
    assert!(matches!(send(response(200, GZIP, &broken)).await, RequestError::Body { .. }));
    assert!(matches!(send(response(200, GZIP, "plain text")).await, RequestError::Body { .. }));
}

#[tokio::test]
async fn a_truncated_response_is_not_retried() {
    let short = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"kind\"";
    let error = send(Act::Send(short.into())).await;
    let expected = "GET /api/v1/namespaces/ns/pods/a failed: connection lost while reading the response";
    assert_eq!(with_cause(&error), expected);
}

#[tokio::test]
async fn a_missing_status_is_derived_from_the_code() {
    for (code, headers, body, reason, message) in [
        (500, "content-type: application/json\r\n", "<html>", Reason::InternalError, "unknown"),
        (500, "content-type: text/html\r\n", "<html>no</html>", Reason::InternalError, "<html>no</html>"),
        (404, "content-type: application/json\r\n", "{\"kind\":\"Status\"", Reason::NotFound, ""),
        (404, "", "not here", Reason::NotFound, ""),
        (403, "", "not you", Reason::Forbidden, "not you"),
        (503, "content-type: application/json\r\n", "{\"kind\":\"Pod\"}", Reason::ServiceUnavailable, ""),
        (429, "content-type: application/octet-stream\r\n", "\u{0}\u{1}", Reason::TooManyRequests, ""),
    ] {
        let error = send(response(code, headers, body)).await;
        let status = error.status().unwrap_or_else(|| panic!("{code}: {error:?}"));
        assert_eq!((status.code, &status.reason), (i32::from(code), &reason), "{code} {body}");
        assert!(status.message.contains(message), "{code} {body}: {}", status.message);
        assert!(!error.may_have_happened());
    }
}

#[tokio::test]
async fn a_timeout_or_a_bad_gateway_may_have_been_processed() {
    let timeout = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504}"#;
    for (code, body) in [(504, timeout), (504, "no answer"), (502, "bad gateway")] {
        let headers = if body == timeout {
            "content-type: application/json\r\n"
        } else {
            "content-type: text/plain\r\n"
        };
        let error = send(response(code, headers, body)).await;
        assert!(
            matches!(error, RequestError::Api { .. }) && error.may_have_happened(),
            "{code} {body}: {error:?}"
        );
    }
}

#[tokio::test]
async fn an_undecodable_object_is_an_error_that_names_the_cause() {
    for (headers, body, why) in [
        ("content-type: application/json\r\n", "{\"kind\":", "EOF while parsing"),
        ("content-type: application/json\r\n", "", "empty body"),
        ("content-type: text/html\r\n", "<html>", "unsupported media type"),
        ("content-type: application/vnd.kubernetes.protobuf\r\n", "k8s?", ""),
    ] {
        let error = send(response(200, headers, body)).await;
        assert!(matches!(error, RequestError::Decode { .. }), "{body}: {error:?}");
        let start = "GET /api/v1/namespaces/ns/pods/a: failed to decode the response: ";
        assert!(error.to_string().starts_with(start) && error.to_string().contains(why), "{error}");
    }
}

/// Sends a request with a response limit; returns the error and the server.
async fn send_limited(act: Act) -> (RequestError, Scripted) {
    let server = Scripted::start(vec![act]).await;
    let mut config = server.config();
    config.max_response_bytes = LIMIT;
    let error = core(&config).get().resource("pods").send().await.unwrap_err();
    (error, server)
}

#[tokio::test]
async fn an_endless_response_is_cut_off_at_the_limit_compressed_or_not() {
    let head = |headers: &str| format!("HTTP/1.1 200 X\r\n{headers}connection: close\r\n\r\n").into_bytes();
    let zeros = gzipped(&[0; 1 << 20]);
    assert!(zeros.len() < 4096);
    for (name, act, most) in [
        ("plain", Act::Repeat(head(""), vec![b' '; 4096]), LIMIT as usize),
        ("gzip that expands", Act::Repeat(head(GZIP), zeros), 4096),
        ("gzip without content", Act::Repeat(head(GZIP), gzipped(b"").repeat(100)), LIMIT as usize),
        (
            "gzip with an endless file name",
            {
                let name = [b"\x1f\x8b\x08\x08\0\0\0\0\0\xff".as_slice(), &[b'n'; 4086]].concat();
                Act::Repeat([head(GZIP), name].concat(), vec![b'n'; 4096])
            },
            LIMIT as usize,
        ),
    ] {
        let (error, server) = send_limited(act).await;
        let is_too_large =
            matches!(error, RequestError::Body { source: BodyError::TooLarge { limit: LIMIT }, .. });
        assert!(is_too_large, "{name}: {error:?}");
        let expected = "GET /api/v1/pods failed: response is larger than the limit of 1048576 bytes; use pages or a \
                        selector, or raise the limit";
        assert_eq!(with_cause(&error), expected, "{name}");
        assert!(server.sent() <= most + SOCKETS, "{name}: {}", server.sent());
        assert_eq!(server.requests(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_content_length_above_the_limit_is_rejected_before_reading() {
    let head = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", LIMIT + 1);
    let (error, _server) = send_limited(Act::Send(head.into_bytes())).await; // not a lost connection
    assert!(matches!(error, RequestError::Body { source: BodyError::TooLarge { .. }, .. }), "{error:?}");
    let fits = " ".repeat(LIMIT as usize);
    for (headers, body) in [("", fits.clone().into_bytes()), (GZIP, gzipped(fits.as_bytes()))] {
        let server = Scripted::start(vec![response(200, headers, body)]).await;
        let mut config = server.config();
        config.max_response_bytes = LIMIT;
        let response = core(&config).get().resource("pods").send().await.unwrap();
        assert_eq!(response.body.len() as u64, LIMIT);
    }
}

#[tokio::test]
async fn a_single_object_is_limited_like_a_list_item() {
    let head = "HTTP/1.1 200 X\r\ncontent-length: 30000000\r\n\r\n";
    let server = Scripted::start(vec![Act::Send(head.into())]).await;
    let pods = Client::new(&server.config()).unwrap().dynamic(&"v1".parse().unwrap(), "pods").namespace("ns");
    let error = pods.get("a").await.unwrap_err();
    assert!(with_cause(&error).contains("larger than the limit of 16777216 bytes"), "{error}");
}

#[tokio::test]
async fn values_that_would_need_far_more_memory_than_their_bytes_are_rejected() {
    let empty = "{},".repeat(3_000_000);
    let json = "content-type: application/json\r\n";
    for (head, why) in [
        (r#"{"kind":"Pod","apiVersion":"v1","spec":["#, "values in 9000044 bytes"),
        (r#"{"kind":"PodList","apiVersion":"v1","items":["#, "item 0 has no name"),
    ] {
        let body = format!("{head}{empty}{{}}]}}");
        let server = Scripted::start(vec![response(200, json, &body)]).await;
        let pods =
            Client::new(&server.config()).unwrap().dynamic(&"v1".parse().unwrap(), "pods").namespace("ns");
        let error = if why.starts_with("item") {
            pods.list(&Default::default()).await.unwrap_err()
        } else {
            pods.get("a").await.unwrap_err()
        };
        assert!(matches!(error, RequestError::Decode { .. }) && error.to_string().contains(why), "{error}");
    }
}
