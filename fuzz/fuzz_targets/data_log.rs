//! Logs of a data directory: whatever is there is read, cut off or refused. What is whole stays so when the log is cut
//! off after it, and no bit of it can change unnoticed.

#![no_main]

use flate2::Crc;
use libfuzzer_sys::fuzz_target;
use watchkeeper_apiserver::store::disk::read_log;
use watchkeeper_fuzz::choice;

const FILE_HEADER: usize = 20;
const HEADER: usize = 24;

fuzz_target!(|data: &[u8]| {
    let (choice, bytes) = choice(data);
    let log = if choice % 2 == 0 { bytes.to_vec() } else { sealed(bytes) };
    let Ok(whole) = read_log(&log) else { return };
    let end = usize::try_from(whole.end).expect("it is within the log");
    assert!((FILE_HEADER..=log.len()).contains(&end) && whole.revision >= whole.base);
    assert_eq!(read_log(&log[..end]), Ok(whole), "nothing after the end counts");

    let place = FILE_HEADER + usize::from(choice / 2) * (end - FILE_HEADER) / 128;
    let cut = read_log(&log[..place]).expect("a log may end anywhere");
    assert!(cut.revision <= whole.revision && cut.end <= place as u64);
    if place < end {
        let mut changed = log[..end].to_vec();
        changed[place] ^= 1 << (choice % 8);
        // A sector of zeros was never written: it is none of a log that was.
        if !changed.chunks(512).any(|sector| sector.iter().all(|byte| *byte == 0)) {
            assert!(read_log(&changed).is_err(), "a bit at byte {place}");
        }
    }
});

/// The bytes as a log whose checksums are right, so that the fuzzer gets past them.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut log = bytes.to_vec();
    log.resize(log.len().max(FILE_HEADER), 0);
    let crc = crc32(&log[..16]);
    log[16..FILE_HEADER].copy_from_slice(&crc);
    let mut rest = &mut log[FILE_HEADER..];
    while rest.len() >= HEADER {
        let (header, after) = rest.split_at_mut(HEADER);
        let said = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        let length = after.len().min(said as usize);
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
