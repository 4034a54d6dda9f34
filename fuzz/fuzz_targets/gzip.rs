//! gzip: the same in any chunks, and what flate2 makes of all of it at once.

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

fn gunzip(body: &[u8], choice: u8, at_once: usize) -> (Vec<u8>, Result<(), Malformed>) {
    let (mut gunzip, mut plain) = (Gunzip::new(at_once), Vec::new());
    for chunk in chunks(choice, body) {
        gunzip.push(chunk);
        loop {
            match gunzip.next() {
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= at_once, "Z1");
                    plain.extend_from_slice(&chunk);
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(gunzip.next(), Err(error.clone()), "an error is returned again");
                    return (plain, Err(error));
                }
            }
        }
    }
    (plain, gunzip.finish())
}

/// Two members, the second of them as it comes.
fn round_trip(choice: u8, data: &[u8]) {
    let mut body = Vec::new();
    let (first, second) = data.split_at(data.len().min(choice.into()));
    for (part, level) in [(first, Compression::fast()), (second, Compression::none())] {
        let mut member = GzEncoder::new(Vec::new(), level);
        member.write_all(part).expect("it is written to memory");
        body.extend(member.finish().expect("it is written to memory"));
    }
    let (plain, end) = gunzip(&body, choice, 7);
    assert_eq!((&*plain, end), (data, Ok(())));
}

/// One member of the deflate data that is there: whatever a mutation does to it, its checksum is right.
fn checked(choice: u8, data: &[u8]) {
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
    checked(choice, body);
    if choice % 4 == 0 {
        round_trip(choice, body); // takes most of the time
    }
});
