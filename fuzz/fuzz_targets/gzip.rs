//! gzip: chunking does not change the output, which equals that of flate2.

#![no_main]

use std::io::{Read as _, Write as _};

use flate2::bufread::DeflateDecoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};
use libfuzzer_sys::fuzz_target;
use watchkeeper_fuzz::{choice, chunks};
use watchkeeper_wire::Malformed;
use watchkeeper_wire::gzip::Gunzip;

fn gunzip(body: &[u8], choice: u8, chunk_bytes: usize) -> (Vec<u8>, Result<(), Malformed>) {
    let (mut gunzip, mut plain) = (Gunzip::new(chunk_bytes), Vec::new());
    for chunk in chunks(choice, body) {
        gunzip.push(chunk);
        loop {
            match gunzip.next() {
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= chunk_bytes, "gzip.Z1");
                    plain.extend_from_slice(&chunk);
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(gunzip.next(), Err(error.clone()), "errors are sticky");
                    return (plain, Err(error));
                }
            }
        }
    }
    (plain, gunzip.finish())
}

/// Compresses the data as two members, the second one stored, and decompresses it.
fn round_trip(choice: u8, data: &[u8]) {
    let mut body = Vec::new();
    let (first, second) = data.split_at(data.len().min(choice.into()));
    for (part, level) in [(first, Compression::fast()), (second, Compression::none())] {
        let mut member = GzEncoder::new(Vec::new(), level);
        member.write_all(part).expect("writing to memory does not fail");
        body.extend(member.finish().expect("writing to memory does not fail"));
    }
    let (plain, end) = gunzip(&body, choice, 7);
    assert_eq!((&*plain, end), (data, Ok(())));
}

/// Wraps deflate data in a member with a valid checksum, so that mutated data gets past it.
fn with_checksum(choice: u8, data: &[u8]) {
    let (mut plain, mut reader) = (Vec::new(), DeflateDecoder::new(data));
    if reader.read_to_end(&mut plain).is_err() {
        return;
    }
    let mut crc = Crc::new();
    crc.update(&plain);
    let mut body = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    body.extend_from_slice(&data[..reader.total_in() as usize]);
    body.extend(crc.sum().to_le_bytes());
    body.extend(crc.amount().to_le_bytes());
    assert_eq!(gunzip(&body, choice, 100), (plain, Ok(())));
}

fuzz_target!(|data: &[u8]| {
    let (choice, body) = choice(data);
    let (plain, end) = gunzip(body, 0, 1 << 16);
    let (in_chunks, end_in_chunks) = gunzip(body, choice, 5);
    assert_eq!(end_in_chunks.is_ok(), end.is_ok());
    if end.is_ok() {
        assert_eq!(in_chunks, plain);
    }
    if !body.is_empty() {
        let mut expected = Vec::new();
        let flate2 = MultiGzDecoder::new(body).read_to_end(&mut expected);
        assert_eq!(end.is_ok(), flate2.is_ok(), "{end:?} {flate2:?}");
        if flate2.is_ok() {
            assert_eq!(plain, expected);
        }
    }
    with_checksum(choice, body);
    if choice % 4 == 0 {
        round_trip(choice, body); // only sometimes: slow
    }
});
