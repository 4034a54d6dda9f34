//! The keys that an object has had so far: none may come twice.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{Malformed, Problem};

/// So many keys are compared one by one; more of them are hashed.
const FEW: usize = 16;

/// Keys of one object.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    few: [&'a [u8]; FEW],
    count: usize,
    /// A bit for every key in `few`, by its looks: a key whose bit is not set is new.
    looks: u64,
    /// The keys that were written with escapes, and those for which `few` had no room.
    more: HashSet<Cow<'a, [u8]>>,
}

impl Default for Keys<'_> {
    fn default() -> Self {
        Self { few: [b""; FEW], count: 0, looks: 0, more: HashSet::new() }
    }
}

impl<'a> Keys<'a> {
    /// Adds a key that stands at `offset`.
    #[expect(clippy::ptr_arg, reason = "a borrowed key is kept as it is, without a copy")]
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
        self.looks |= looks(key);
        true
    }

    fn has(&self, key: &[u8]) -> bool {
        let among_few = || self.few[..self.count].contains(&key);
        (self.looks & looks(key) != 0 && among_few()) || (!self.more.is_empty() && self.more.contains(key))
    }
}

#[cold]
fn duplicate(key: &[u8], offset: usize) -> Malformed {
    Malformed::new(offset, Problem::DuplicateKey(String::from_utf8_lossy(key).into_owned()))
}

/// One of 64 bits, by length and last byte.
fn looks(key: &[u8]) -> u64 {
    let last = key.last().copied().unwrap_or_default();
    1 << (key.len().wrapping_mul(7).wrapping_add(usize::from(last)) % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exactly_the_repeated_keys_are_refused(
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
