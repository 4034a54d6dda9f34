//! Statuses in JSON, and statuses built from other responses.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use watchkeeper_core::{Status, UnexpectedResponse};

fn check(status: &Status) {
    let json = serde_json::to_vec(status).expect("a status can be encoded");
    assert_eq!(serde_json::from_slice::<Status>(&json).expect("an encoded status can be decoded"), *status);
    let predicates = [
        status.is_not_found(),
        status.is_conflict(),
        status.is_invalid(),
        status.is_bad_request(),
        status.is_unauthorized(),
        status.is_forbidden(),
        status.is_timeout(),
        status.is_internal_error(),
        status.is_service_unavailable(),
    ];
    assert!(predicates.iter().filter(|holds| **holds).count() <= 1, "status.R1: {status:?}");
    let _ = (
        status.is_expired(),
        status.is_too_large_resource_version(),
        status.retry_after(),
        status.to_string(),
    );
}

fuzz_target!(|data: &[u8]| {
    if let Ok(status) = serde_json::from_slice::<Status>(data) {
        check(&status);
    }
    let Some((code, text)) = data.split_first_chunk() else { return };
    let response = UnexpectedResponse {
        code: u16::from_le_bytes(*code),
        method: "POST",
        text: Some(text),
        retry_after: Some(Duration::from_millis(text.len() as u64)),
        ..UnexpectedResponse::default()
    };
    let status = Status::from(response);
    assert!(status.is_unexpected_server_error());
    check(&status);
});
