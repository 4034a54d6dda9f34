//! Tears: decides whether an unreadable record was interrupted by a crash, or was complete and has changed.
//!
//! A record that was never acknowledged may be cut off; one that was on disk may not. A crash leaves part of a write:
//! the file ends early, or some sectors were not written and read as zeros. A complete record never contains a zero
//! sector of its own, because it begins with a mark and ends with a byte of a name or of JSON, and neither contains
//! zeros.
//!
//! Invariants:
//! - `tear.W1`: a record is torn only if it is the last in the file or no later one was written after it was on disk.
//! - `tear.W2`: a flipped bit never makes a complete record look torn.

use super::frame::{HEADER, MARK, crc32, read_header};

/// The unit that a disk writes atomically, in bytes.
const SECTOR: u64 = 512;

/// Describes the damage in the bytes of a file from `at` on, which do not begin with a readable record; returns
/// `None` if that record is torn.
pub(super) fn judge(rest: &[u8], at: u64) -> Option<&'static str> {
    if was_synced(rest, at) {
        return Some("the record is unreadable, but more records follow"); // tear.W1
    }
    let header = read_header(rest);
    let is_short = match header {
        None => rest.len() < HEADER,
        Some(header) => rest.len() - HEADER < header.length,
    };
    let length = header.map_or(HEADER, |header| HEADER + header.length);
    if is_short || has_empty_sector(rest, at, length) {
        return None;
    }
    Some(if header.is_some() { "the checksum of the record does not match" } else { "not a record" })
}

/// Returns whether a later record proves that the bytes at `at` were on disk before it was written (`tear.W1`).
fn was_synced(rest: &[u8], at: u64) -> bool {
    let mut from = 1;
    while let Some(found) = rest.get(from..).and_then(find_mark) {
        let start = from + found;
        let says_so = |later: &[u8]| {
            let header = read_header(later).filter(|header| header.synced > at)?;
            let payload = later.get(HEADER..HEADER.checked_add(header.length)?)?;
            (crc32(payload) == header.crc).then_some(())
        };
        if says_so(&rest[start..]).is_some() {
            return true;
        }
        from = start + 1;
    }
    false
}

pub(super) fn find_mark(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MARK.len()).position(|window| window == MARK)
}

/// Returns whether any of the sectors that hold the first `length` bytes was never written.
fn has_empty_sector(rest: &[u8], at: u64, length: usize) -> bool {
    let mut start = 0;
    while start < length.min(rest.len()) {
        let sector_left = SECTOR - (at + start as u64) % SECTOR;
        let end = start.saturating_add(sector_left as usize).min(rest.len());
        if rest[start..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        start = end;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::frame::push;
    use super::*;
    use proptest::prelude::*;

    fn frame(synced: u64, size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        push(&mut out, synced, |out| out.extend((0..size).map(|_| b'x')));
        out
    }

    #[test]
    fn a_record_that_ends_too_early_is_torn_wherever_it_ends() {
        let whole = frame(20, 700);
        for length in 1..whole.len() {
            assert_eq!(judge(&whole[..length], 20), None, "{length}");
        }
    }

    #[test]
    fn a_record_of_which_a_sector_is_missing_is_torn() {
        for at in [20_u64, 500, 511, 512] {
            let whole = [frame(20, 1500), frame(20, 40)].concat();
            let first = usize::try_from(SECTOR - at % SECTOR).unwrap();
            for (start, end) in [(0, first), (first, first + 512), (first + 512, first + 1024)] {
                let mut torn = whole.clone();
                torn[start..end].fill(0);
                assert_eq!(judge(&torn, at), None, "{at} {start}");
            }
        }
    }

    #[test]
    fn a_sector_that_was_on_disk_before_a_later_record_was_written_is_damage() {
        let at = 20;
        let first = frame(at, 1500);
        let mut file = [first.clone(), frame(at + first.len() as u64, 40)].concat();
        file[100..1100].fill(0);
        assert!(judge(&file, at).is_some(), "tear.W1");
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_damage(
            at in 20..2000_u64, size in 1..1500_usize, more in prop::option::of(1..600_usize),
            place in any::<prop::sample::Index>(), bit in 0..8_u8,
        ) {
            let mut file = frame(20, size);
            let place = place.index(file.len());
            file[place] ^= 1 << bit;
            file.extend(more.map(|size| frame(20, size)).unwrap_or_default());
            prop_assert!(judge(&file, at).is_some(), "tear.W2");
        }

        #[test]
        fn any_bytes_can_be_judged(rest in prop::collection::vec(prop_oneof![Just(0), Just(0xd7), any::<u8>()], 0..1200), at in any::<u32>()) {
            judge(&rest, at.into());
        }
    }
}
