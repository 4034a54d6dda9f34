//! Stream messages: a decoded message is encoded unchanged.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use watchkeeper_client::streams::Frame;
use watchkeeper_fuzz::choice;

fuzz_target!(|data: &[u8]| {
    let (choice, message) = choice(data);
    let (can_close, message) = (choice % 2 == 1, Bytes::copy_from_slice(message));
    match Frame::decode(&message, can_close) {
        Ok(frame) => assert_eq!(frame.encode(), message, "a decoded frame is encoded unchanged"),
        Err(_) => assert!(message.is_empty() || (can_close && message[0] == 255 && message.len() != 2)),
    }
});
