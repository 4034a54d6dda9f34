//! Requests to the API server: target, options, continue tokens and patches are parsed or rejected without a panic.

#![no_main]

use http::Method;
use libfuzzer_sys::fuzz_target;
use watchkeeper_apiserver::http::{
    DeleteOptions, GetOptions, ListOptions, MediaType, PatchType, Query, Target, WriteOptions,
    decode_delete_options, decode_patch,
};
use watchkeeper_apiserver::read::ContinueToken;

fuzz_target!(|data: &[u8]| {
    let (head, body) = match data.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &data[data.len()..]),
    };
    let head = String::from_utf8_lossy(head);
    let (path, query) = head.split_once('?').unwrap_or((&head, ""));
    let query = Query::parse(query);
    for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let _ = Target::read(&method, path, &query);
    }
    let _ = (GetOptions::read(&query), WriteOptions::of_create(&query), WriteOptions::of_update(&query));
    let _ = DeleteOptions::of_query(&query);
    if let Ok(options) = ListOptions::read(&query) {
        let _ = options.is_watch_list();
    }
    if let Some(text) = query.first("continue")
        && let Ok(token) = ContinueToken::decode(text)
    {
        let again = ContinueToken::decode(&token.encode()).expect("an encoded token can be decoded");
        assert_eq!(again.encode(), token.encode());
    }
    for patch in [PatchType::Json, PatchType::Merge, PatchType::Strategic] {
        let _ = (decode_patch(body, patch), WriteOptions::of_patch(&query, patch));
    }
    for media in [MediaType::JSON, MediaType::Yaml, MediaType::PROTOBUF] {
        if let Ok(value) = decode_delete_options(body, media) {
            let _ = DeleteOptions::of_body(value);
        }
    }
});
