//! A SIMD scanner that finds the end of a JSON object or array.
//!
//! Input: the bytes of the container, starting at its opening bracket, in pieces of any size.
//! Output: the position after its closing bracket.
//!
//! Each block of 64 bytes becomes four masks with a bit per byte: quotes, backslashes, opening and
//! closing brackets. They determine which bytes are in strings; the brackets outside are counted. A
//! block is examined bracket by bracket only if the container may end in it, i.e. if it has at least
//! as many closing brackets as there are open levels.
//!
//! - `scan.N1`: the container ends at the first bracket outside of strings that closes all open levels.
//!   `[` and `{` are not distinguished: parsing finds mismatches.
//! - `scan.N2`: the result does not depend on the boundaries of pieces.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x64};

/// Bytes per block: one bit of a mask each.
const BLOCK: usize = u64::BITS as usize;

/// The state of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    level: Level,
    depth: usize,
    max_depth: usize,
    /// All ones if the next byte is in a string, else zero.
    in_string: u64,
    /// One if the next byte is escaped by a backslash, else zero.
    escaped: u64,
}

/// The result of scanning a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanResult {
    /// The value ends after this many bytes of the piece.
    End(usize),
    /// The value does not end in this piece.
    More,
    /// The bracket at this position of the piece exceeds the maximum depth.
    TooDeep(usize),
}

/// The masks of a block. The first byte is the lowest bit.
#[derive(Clone, Copy)]
struct Masks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl Scan {
    /// Creates a scan of a container with at most `max_depth` levels, including itself.
    pub(super) fn new(max_depth: usize) -> Self {
        Self { level: Level::new(), depth: 0, max_depth, in_string: 0, escaped: 0 }
    }

    /// Scans the next piece. The first piece starts with the opening bracket.
    pub(super) fn feed(&mut self, piece: &[u8]) -> ScanResult {
        dispatch!(self.level, simd => self.feed_blocks(simd, piece))
    }

    #[inline(always)] // into the function compiled for the current CPU
    fn feed_blocks<S: Simd>(&mut self, simd: S, piece: &[u8]) -> ScanResult {
        let (blocks, rest) = piece.as_chunks::<BLOCK>();
        let mut start = 0;
        for block in blocks {
            let masks = Masks::of(simd, block);
            let escaped = self.escaped_bytes(masks.backslashes);
            if let Some(fed) = self.count(&masks, escaped, start) {
                return fed;
            }
            start += BLOCK;
        }
        if rest.is_empty() {
            return ScanResult::More;
        }
        let mut block = [b' '; BLOCK];
        block[..rest.len()].copy_from_slice(rest);
        let masks = Masks::of(simd, &block);
        let escaped = self.escaped_bytes(masks.backslashes);
        self.escaped = escaped >> rest.len() & 1; // the byte after the rest, not after the block
        self.count(&masks, escaped, start).unwrap_or(ScanResult::More)
    }

    /// Returns the mask of escaped bytes.
    ///
    /// In a run of backslashes every second one is escaped, and so is the byte after a run of odd
    /// length. A subtraction computes this for all runs at once: its borrow propagates through a run,
    /// and the bit after the run shows whether the run began at an even or an odd position.
    #[inline(always)]
    fn escaped_bytes(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let starting = backslashes & !self.escaped;
        let behind = (starting << 1 | ODD).wrapping_sub(starting) ^ ODD;
        let escaped = behind ^ (backslashes | self.escaped);
        self.escaped = (behind & backslashes) >> (BLOCK - 1);
        escaped
    }

    /// Counts the brackets of a block at `start` of its piece.
    #[inline(always)]
    fn count(&mut self, masks: &Masks, escaped: u64, start: usize) -> Option<ScanResult> {
        let in_string = running_parity(masks.quotes & !escaped) ^ self.in_string;
        self.in_string = (in_string.cast_signed() >> (BLOCK - 1)).cast_unsigned();
        let (opening, closing) = (masks.opening & !in_string, masks.closing & !in_string);
        let (opened, closed) = (opening.count_ones() as usize, closing.count_ones() as usize);
        let examine = closed >= self.depth || self.depth + opened > self.max_depth;
        if examine && let Some(fed) = self.walk(opening, closing, start) {
            return Some(fed);
        }
        self.depth = self.depth + opened - closed; // scan.N1: `walk` would have found the end
        None
    }

    /// Examines the brackets of a block one by one.
    fn walk(&self, opening: u64, closing: u64, start: usize) -> Option<ScanResult> {
        let mut depth = self.depth;
        let mut brackets = opening | closing;
        while brackets != 0 {
            let place = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            if opening >> place & 1 == 1 {
                if depth == self.max_depth {
                    return Some(ScanResult::TooDeep(start + place));
                }
                depth += 1;
            } else if depth <= 1 {
                return Some(ScanResult::End(start + place + 1));
            } else {
                depth -= 1;
            }
        }
        None
    }
}

impl Masks {
    #[inline(always)]
    fn of<S: Simd>(simd: S, block: &[u8; BLOCK]) -> Self {
        let bytes = u8x64::from_slice(simd, block);
        let is = |bytes: u8x64<S>, byte: u8| bytes.simd_eq(u8x64::splat(simd, byte)).to_bitmask();
        let folded = bytes | u8x64::splat(simd, 0x20); // maps only `[` to `{` and `]` to `}`
        Self {
            quotes: is(bytes, b'"'),
            backslashes: is(bytes, b'\\'),
            opening: is(folded, b'{'),
            closing: is(folded, b'}'),
        }
    }
}

/// Sets each bit to the parity of the bits up to it: for quotes, whether a string is open.
#[inline(always)]
fn running_parity(mut bits: u64) -> u64 {
    for step in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << step;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::testing;
    use proptest::prelude::*;

    /// A reference implementation, byte by byte.
    #[derive(Debug, Clone, Copy, Default)]
    struct Model {
        depth: usize,
        in_string: bool,
        escaped: bool,
    }

    impl Model {
        fn feed(&mut self, piece: &[u8], max_depth: usize) -> ScanResult {
            for (at, byte) in piece.iter().enumerate() {
                let escaped = self.escaped;
                self.escaped = !escaped && *byte == b'\\';
                match byte {
                    b'"' if !escaped => self.in_string = !self.in_string,
                    b'{' | b'[' if !self.in_string && self.depth == max_depth => {
                        return ScanResult::TooDeep(at);
                    }
                    b'{' | b'[' if !self.in_string => self.depth += 1,
                    b'}' | b']' if !self.in_string && self.depth <= 1 => return ScanResult::End(at + 1),
                    b'}' | b']' if !self.in_string => self.depth -= 1,
                    _ => {}
                }
            }
            ScanResult::More
        }
    }

    /// All SIMD levels that this machine supports.
    fn levels() -> Vec<Level> {
        let mut levels = vec![Level::fallback(), Level::baseline(), Level::new()];
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Level::new().as_sse4_2().map(|simd| simd.level()));
            levels.extend(Level::new().as_avx2().map(|simd| simd.level()));
        }
        levels
    }

    fn scan_at(level: Level, max_depth: usize) -> Scan {
        Scan { level, ..Scan::new(max_depth) }
    }

    /// Mostly structural bytes, starting with a bracket.
    fn structure() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => Just(b' '), 4 => Just(b'['), 3 => Just(b']'), 2 => Just(b'"'), 2 => Just(b'\\'), 1 => any::<u8>()
        ];
        let run = (byte, prop_oneof![4 => 1..4_usize, 1 => 1..140_usize]);
        prop::collection::vec(run, 1..40).prop_map(|runs| {
            let runs = runs.into_iter().flat_map(|(byte, count)| std::iter::repeat_n(byte, count));
            std::iter::once(b'{').chain(runs).collect()
        })
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = br#"{"a":"}]\"}\\","b":["}"]} "#;
        assert_eq!(Scan::new(9).feed(text), ScanResult::End(text.len() - 1));
    }

    #[test]
    fn an_odd_run_of_backslashes_escapes_the_next_quote() {
        for backslashes in 0..200 {
            let text = format!(r#"{{"{}"}}]""#, "\\".repeat(backslashes));
            let end = if backslashes % 2 == 0 { ScanResult::End(backslashes + 4) } else { ScanResult::More };
            for level in levels() {
                assert_eq!(scan_at(level, 9).feed(text.as_bytes()), end, "{backslashes} {level:?}");
            }
        }
    }

    #[test]
    fn exceeding_the_depth_is_reported_at_the_bracket() {
        let text = [b"[".repeat(500), b"]".repeat(500)].concat();
        assert_eq!(Scan::new(500).feed(&text), ScanResult::End(1000));
        assert_eq!(Scan::new(499).feed(&text), ScanResult::TooDeep(499));
        assert_eq!(Scan::new(0).feed(b"{}"), ScanResult::TooDeep(0));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_scan_as_in_the_model(
            bytes in structure(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6), max_depth in 1..90_usize
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            for level in levels() {
                let (mut scan, mut model) = (scan_at(level, max_depth), Model::default());
                for cut in cuts.windows(2) {
                    let piece = &bytes[cut[0]..cut[1]];
                    let expected = model.feed(piece, max_depth);
                    prop_assert_eq!(scan.feed(piece), expected, "{:?}", level);
                    if expected != ScanResult::More {
                        break;
                    }
                }
            }
        }

        #[test]
        fn the_end_of_any_object_is_found(
            object in testing::object(), pretty: bool, tail in "[\\]}\"a ]{0,70}"
        ) {
            let json = testing::text(&object.into(), pretty);
            let text = format!("{json}{tail}");
            for level in levels() {
                prop_assert_eq!(scan_at(level, 512).feed(text.as_bytes()), ScanResult::End(json.len()));
            }
        }
    }
}
