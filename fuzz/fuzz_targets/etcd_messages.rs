//! etcd messages: any bytes are parsed or rejected, with the same result every time.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use watchkeeper_etcd::{Lease, TxnOpResponse, TxnResponse, WatchResponse};
use watchkeeper_fuzz::choice;

fuzz_target!(|data: &[u8]| {
    let (choice, message) = choice(data);
    let message = Bytes::copy_from_slice(message);
    match choice % 3 {
        0 => {
            let read = TxnResponse::try_from(message.clone());
            if let Ok(response) = &read {
                let kvs = response.responses.iter().flat_map(|response| match response {
                    TxnOpResponse::Range(range) => range.kvs.clone(),
                    TxnOpResponse::Put(put) => put.previous.clone().into_iter().collect(),
                    TxnOpResponse::Delete(delete) => delete.previous.clone(),
                });
                let bytes: usize = kvs.map(|kv| kv.key.len() + kv.value.len()).sum();
                assert!(bytes <= message.len(), "keys and values are part of the message");
            }
            assert_eq!(read, TxnResponse::try_from(message));
        }
        1 => {
            let read = WatchResponse::try_from(message.clone());
            if let Ok(response) = &read {
                let bytes: usize =
                    response.changes.iter().map(|change| change.kv.key.len() + change.kv.value.len()).sum();
                assert!(bytes <= message.len(), "keys and values are part of the message");
                assert!(!(response.is_progress() && response.canceled));
            }
            assert_eq!(read, WatchResponse::try_from(message));
        }
        _ => assert_eq!(Lease::try_from(message.clone()), Lease::try_from(message)),
    }
});
