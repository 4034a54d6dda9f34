//! Logs of a data directory: any bytes are read, truncated or rejected. Complete records stay readable when the log is
//! truncated after them, and every flipped bit is detected.

#![no_main]

use flate2::Crc;
use libfuzzer_sys::fuzz_target;
use watchkeeper_apiserver::store::disk::read_log;
use watchkeeper_fuzz::choice;

const FILE_HEADER: usize = 20;
const HEADER: usize = 24;

fuzz_target!(|data: &[u8]| {
    let (choice, bytes) = choice(data);
    let log = if choice % 2 == 0 { bytes.to_vec() } else { with_checksums(bytes) };
    let Ok(whole) = read_log(&log) else { return };
    let end = usize::try_from(whole.end).expect("the end is within the log");
    assert!((FILE_HEADER..=log.len()).contains(&end) && whole.revision >= whole.base);
    assert_eq!(read_log(&log[..end]), Ok(whole), "bytes after the end are ignored");

    let offset = FILE_HEADER + usize::from(choice / 2) * (end - FILE_HEADER) / 128;
    let cut = read_log(&log[..offset]).expect("a log can be truncated anywhere");
    assert!(cut.revision <= whole.revision && cut.end <= offset as u64);
    if offset < end {
        let mut changed = log[..end].to_vec();
        changed[offset] ^= 1 << (choice % 8);
        // A sector of zeros counts as never written, so a flip that results in one is not an error.
        if !changed.chunks(512).any(|sector| sector.iter().all(|byte| *byte == 0)) {
            assert!(read_log(&changed).is_err(), "flipped bit at byte {offset}");
        }
    }
});

/// Turns the bytes into a log with valid checksums, so that the fuzzer gets past them.
fn with_checksums(bytes: &[u8]) -> Vec<u8> {
    let mut log = bytes.to_vec();
    log.resize(log.len().max(FILE_HEADER), 0);
    let crc = crc32(&log[..16]);
    log[16..FILE_HEADER].copy_from_slice(&crc);
    let mut rest = &mut log[FILE_HEADER..];
    while rest.len() >= HEADER {
        let (header, after) = rest.split_at_mut(HEADER);
        let declared = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let length = after.len().min(declared as usize);
        let (payload, after) = after.split_at_mut(length);
        header[..4].copy_from_slice(b"\xd7rec");
        header[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        header[16..20].copy_from_slice(&crc32(payload));
        let crc = crc32(&header[..20]);
        header[20..].copy_from_slice(&crc);
        rest = after;
    }
    log
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}
