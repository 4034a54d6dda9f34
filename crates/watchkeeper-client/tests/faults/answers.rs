//! Answers that are none.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use watchkeeper_client::rest::RequestError;
use watchkeeper_core::StatusReason as Reason;

use super::core;
use super::scripted::{Act, Scripted, answer};

async fn ask(act: Act) -> RequestError {
    let server = Scripted::start(vec![act]).await;
    let get = core(&server.config()).get().namespace("ns").resource("pods").name("a");
    let error = match get.send().await {
        Ok(answer) => answer.into::<Value>().unwrap_err(),
        Err(error) => error,
    };
    assert_eq!(server.asked(), 1, "{error}");
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
async fn a_gzip_that_is_cut_short_or_broken_is_never_taken_for_whole() {
    let whole = gzipped(br#"{"kind":"Pod"}"#);
    let server = Scripted::start(vec![answer(200, GZIP, &whole)]).await;
    let read = core(&server.config()).get().resource("pods").send().await.unwrap();
    assert_eq!(read.into::<Value>().unwrap()["kind"], "Pod");

    for cut in [1, 9, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        let error = ask(answer(200, GZIP, &whole[..cut])).await;
        assert!(matches!(error, RequestError::Body { .. }), "{cut}: {error:?}");
        let expected = "GET /api/v1/namespaces/ns/pods/a: the answer is compressed and broken";
        assert_eq!(error.to_string(), expected, "{cut}");
        assert!(error.may_have_happened());
    }
    let mut broken = whole.clone();
    *broken.last_mut().unwrap() ^= 1; // its length is another
    assert!(matches!(ask(answer(200, GZIP, &broken)).await, RequestError::Body { .. }));
    assert!(matches!(ask(answer(200, GZIP, "plain text")).await, RequestError::Body { .. }));
}

#[tokio::test]
async fn an_answer_that_ends_before_its_length_is_not_tried_again() {
    let short = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"kind\"";
    let error = ask(Act::Say(short.into())).await;
    let expected = "GET /api/v1/namespaces/ns/pods/a: the connection was lost within the answer";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn garbage_in_place_of_a_status_leaves_what_the_code_means() {
    for (code, headers, body, reason, message) in [
        (500, "content-type: application/json\r\n", "<html>", Reason::InternalError, "unknown"),
        (500, "content-type: text/html\r\n", "<html>no</html>", Reason::InternalError, "<html>no</html>"),
        (404, "content-type: application/json\r\n", "{\"kind\":\"Status\"", Reason::NotFound, ""),
        (404, "", "not here", Reason::NotFound, ""),
        (403, "", "not you", Reason::Forbidden, "not you"),
        (503, "content-type: application/json\r\n", "{\"kind\":\"Pod\"}", Reason::ServiceUnavailable, ""),
        (429, "content-type: application/octet-stream\r\n", "\u{0}\u{1}", Reason::TooManyRequests, ""),
    ] {
        let error = ask(answer(code, headers, body)).await;
        let status = error.status().unwrap_or_else(|| panic!("{code}: {error:?}"));
        assert_eq!((status.code, &status.reason), (i32::from(code), &reason), "{code} {body}");
        assert!(status.message.contains(message), "{code} {body}: {}", status.message);
        assert!(!error.may_have_happened());
    }
}

#[tokio::test]
async fn an_object_that_is_none_cannot_be_decoded_and_says_so() {
    for (headers, body, why) in [
        ("content-type: application/json\r\n", "{\"kind\":", "EOF while parsing"),
        ("content-type: application/json\r\n", "", "it is empty"),
        ("content-type: text/html\r\n", "<html>", "its media type is"),
        ("content-type: application/vnd.kubernetes.protobuf\r\n", "k8s?", ""),
    ] {
        let error = ask(answer(200, headers, body)).await;
        assert!(matches!(error, RequestError::Decode { .. }), "{body}: {error:?}");
        let start = "GET /api/v1/namespaces/ns/pods/a: the answer cannot be decoded: ";
        assert!(error.to_string().starts_with(start) && error.to_string().contains(why), "{error}");
    }
}
