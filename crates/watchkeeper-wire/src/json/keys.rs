//! Detects duplicate keys of an object.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{Malformed, Problem};

/// The first keys are compared one by one; further ones are hashed.
const FEW: usize = 16;

/// The keys of an object read so far.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    few: [&'a [u8]; FEW],
    count: usize,
    /// Bloom filter of the keys in `few`.
    filter: u64,
    /// Keys with escapes, and keys that did not fit into `few`.
    more: HashSet<Cow<'a, [u8]>>,
}

impl Default for Keys<'_> {
    fn default() -> Self {
        Self { few: [b""; FEW], count: 0, filter: 0, more: HashSet::new() }
    }
}

impl<'a> Keys<'a> {
    /// Adds a key. `offset` is its position, for the error.
    #[expect(clippy::ptr_arg, reason = "a borrowed key is kept without a copy")]
    #[inline(always)] // a borrowed key then stays in registers
    pub(super) fn add(&mut self, key: &Cow<'a, [u8]>, offset: usize) -> Result<(), Malformed> {
        let new = match key {
            Cow::Borrowed(key) => self.add_borrowed(key),
            Cow::Owned(key) => !self.has(key) && self.more.insert(key.clone().into()),
        };
        if new { Ok(()) } else { Err(duplicate(key, offset)) }
    }

    fn add_borrowed(&mut self, key: &'a [u8]) -> bool {
        if self.has(key) {
            return false;
        }
        if self.count == FEW {
            return self.more.insert(key.into());
        }
        self.few[self.count] = key;
        self.count += 1;
        self.filter |= filter_bit(key);
        true
    }

    fn has(&self, key: &[u8]) -> bool {
        let among_few = || self.few[..self.count].contains(&key);
        (self.filter & filter_bit(key) != 0 && among_few())
            || (!self.more.is_empty() && self.more.contains(key))
    }
}

#[cold]
fn duplicate(key: &[u8], offset: usize) -> Malformed {
    Malformed::new(offset, Problem::DuplicateKey(String::from_utf8_lossy(key).into_owned()))
}

/// Returns one of 64 bits, by length and last byte.
fn filter_bit(key: &[u8]) -> u64 {
    let last = key.last().copied().unwrap_or_default();
    1 << (key.len().wrapping_mul(7).wrapping_add(usize::from(last)) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exactly_the_duplicate_keys_are_rejected(
            keys in prop::collection::vec(("[ab]{0,3}|[a-z]{0,8}", any::<bool>()), 0..80)
        ) {
            let (mut seen, mut model) = (Keys::default(), HashSet::new());
            for (key, escaped) in &keys {
                let key: Cow<'_, [u8]> = if *escaped { key.clone().into_bytes().into() } else { key.as_bytes().into() };
                let expected = model.insert(key.clone());
                prop_assert_eq!(seen.add(&key, 0).is_ok(), expected);
            }
        }
    }
}
