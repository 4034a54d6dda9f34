//! Gzip decompression, compared with flate2's decoder.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod documents;

use std::io::{Read, Write};

use bytes::Bytes;
use documents::{chunks, single_bytes};
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use proptest::prelude::*;
use proptest::sample::Index;
use watchkeeper_wire::gzip::Gunzip;
use watchkeeper_wire::{Malformed, Problem};

fn member(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns the output, and the error if there is one.
fn gunzip(chunk_bytes: usize, chunks: Vec<Bytes>) -> (Vec<u8>, Result<(), Malformed>) {
    let mut gunzip = Gunzip::new(chunk_bytes);
    let mut plain = Vec::new();
    for chunk in chunks {
        gunzip.push(chunk);
        loop {
            match gunzip.next() {
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= chunk_bytes, "{} bytes at once", chunk.len());
                    plain.extend_from_slice(&chunk);
                }
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(gunzip.next().unwrap_err(), error, "the error stays");
                    assert_eq!(gunzip.finish().unwrap_err(), error, "the error stays");
                    return (plain, Err(error));
                }
            }
        }
    }
    (plain, gunzip.finish())
}

fn whole(body: &[u8]) -> (Vec<u8>, Result<(), Malformed>) {
    let whole = gunzip(1000, vec![Bytes::copy_from_slice(body)]);
    assert_eq!(gunzip(1000, single_bytes(body)), whole, "one byte at a time");
    assert_eq!(gunzip(1, vec![Bytes::copy_from_slice(body)]), whole, "one byte out at a time");
    whole
}

fn problem(body: &[u8]) -> (u64, Problem) {
    let error = whole(body).1.unwrap_err();
    (error.offset, error.problem)
}

#[test]
fn several_members_are_concatenated() {
    let body = [member(b"one "), member(b""), member(b"two "), member(&[b'x'; 5000])].concat();
    let (plain, end) = whole(&body);
    assert_eq!(plain, [b"one two ".as_slice(), &[b'x'; 5000]].concat());
    assert_eq!(end, Ok(()));
}

#[test]
fn a_member_is_returned_before_the_next_one_starts() {
    let mut gunzip = Gunzip::default();
    for text in ["one", "two", "three"] {
        gunzip.push(member(text.as_bytes()).into());
        assert_eq!(gunzip.next().unwrap().as_deref(), Some(text.as_bytes()));
        assert_eq!(gunzip.next().unwrap(), None);
    }
    assert_eq!(gunzip.finish(), Ok(()));
}

#[test]
fn flushed_data_is_returned_before_the_member_ends() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut gunzip = Gunzip::default();
    for text in ["one", "two", "three"] {
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.flush().unwrap();
        gunzip.push(std::mem::take(encoder.get_mut()).into());
        let mut plain = Vec::new();
        while let Some(chunk) = gunzip.next().unwrap() {
            plain.extend_from_slice(&chunk);
        }
        assert_eq!(plain, text.as_bytes());
    }
    gunzip.push(encoder.finish().unwrap().into());
    assert_eq!(gunzip.next().unwrap(), None);
    assert_eq!(gunzip.finish(), Ok(()));
}

#[test]
fn all_header_fields_are_skipped() {
    let mut encoder = GzBuilder::new()
        .filename("name")
        .comment("comment")
        .extra(vec![1, 2, 3])
        .mtime(7)
        .write(Vec::new(), Compression::fast());
    encoder.write_all(b"text").unwrap();
    let body = encoder.finish().unwrap();
    assert_eq!(whole(&body), (b"text".to_vec(), Ok(())));

    // With a header checksum, which flate2 does not write.
    let header_end = body.windows(8).position(|bytes| bytes == b"comment\0").unwrap() + 8;
    let mut header = body[..header_end].to_vec();
    header[3] |= 2;
    let mut crc = flate2::Crc::new();
    crc.update(&header);
    let check = (crc.sum() as u16).to_le_bytes();
    let checked = [&header, check.as_slice(), &body[header_end..]].concat();
    assert_eq!(whole(&checked), (b"text".to_vec(), Ok(())));
    let wrong = [&header, [check[0], !check[1]].as_slice(), &body[header_end..]].concat();
    assert_eq!(problem(&wrong), (header_end as u64 + 1, Problem::WrongChecksum));
}

#[test]
fn a_body_without_members_is_empty() {
    assert_eq!(whole(b""), (vec![], Ok(())));
}

#[test]
fn a_body_that_ends_within_a_member_is_truncated() {
    let first = member(b"one two three one two three");
    let body = [first.clone(), member(b"four")].concat();
    for cut in 1..body.len() {
        let truncated = Err(Malformed { offset: cut as u64, problem: Problem::Truncated });
        assert_eq!(whole(&body[..cut]).1, if cut == first.len() { Ok(()) } else { truncated }, "{cut}");
    }
}

#[test]
fn errors_have_a_position_and_a_problem() {
    let good = member(b"text");
    let length = good.len();
    assert_eq!(problem(b"{\"kind\":\"Status\"}"), (0, Problem::Expected("a gzip member")));
    assert_eq!(problem(b"\x1f\x8b\x07"), (2, Problem::Expected("a gzip member")));
    assert_eq!(problem(b"\x1f\x8b\x08\xff"), (3, Problem::Expected("a gzip member")));
    let garbage = [good.as_slice(), b"garbage"].concat();
    assert_eq!(problem(&garbage), (length as u64, Problem::Expected("a gzip member")));
    assert_eq!(whole(&garbage).0, b"text", "the data before it is delivered");
    for wrong in length - 8..length {
        let mut body = good.clone();
        body[wrong] ^= 1;
        assert_eq!(problem(&body), (length as u64 - 8, Problem::WrongChecksum));
    }
    let corrupt = [&good[..10], &[0xff; 20]].concat();
    assert_eq!(problem(&corrupt), (10, Problem::CorruptDeflate));
}

#[test]
fn a_highly_compressed_body_is_returned_in_small_chunks() {
    let body = member(&vec![0; 64 << 20]);
    let mut gunzip = Gunzip::new(4096);
    gunzip.push(body.into());
    let mut total = 0;
    while let Some(chunk) = gunzip.next().unwrap() {
        assert!(chunk.len() <= 4096);
        total += chunk.len();
    }
    assert_eq!((total, gunzip.finish()), (64 << 20, Ok(())));
}

/// Members with any content and compression level.
fn members() -> impl Strategy<Value = Vec<u8>> {
    let content =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..300), "[ab]{0,2000}".prop_map(String::into_bytes)];
    prop::collection::vec((content, 0..10_u32), 1..5).prop_map(|members| {
        let mut body = Vec::new();
        for (content, level) in members {
            let mut encoder = GzEncoder::new(&mut body, Compression::new(level));
            encoder.write_all(&content).unwrap();
            encoder.finish().unwrap();
        }
        body
    })
}

proptest! {
    #[test]
    fn any_members_in_any_chunks_decompress_as_by_flate2(
        body in members(), cuts in prop::collection::vec(any::<Index>(), 0..8), chunk_bytes in 1..3000_usize
    ) {
        let mut expected = Vec::new();
        MultiGzDecoder::new(body.as_slice()).read_to_end(&mut expected).unwrap();
        prop_assert_eq!(gunzip(chunk_bytes, chunks(&body, &cuts)), (expected, Ok(())));
    }

    #[test]
    fn corrupted_bytes_are_rejected_exactly_if_flate2_rejects_them(
        body in members(),
        wrong in prop::collection::vec((any::<Index>(), any::<u8>()), 1..3),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let mut body = body;
        for (place, byte) in wrong {
            let place = place.index(body.len());
            body[place] = byte;
        }
        let mut expected = Vec::new();
        let read = MultiGzDecoder::new(body.as_slice()).read_to_end(&mut expected);
        let (plain, end) = gunzip(1000, chunks(&body, &cuts));
        prop_assert_eq!(end.is_ok(), read.is_ok(), "{:?} {:?}", end, read);
        prop_assert_eq!(gunzip(7, single_bytes(&body)).1, end, "the same error in any chunks");
        if read.is_ok() {
            prop_assert_eq!(plain, expected);
        }
    }
}
