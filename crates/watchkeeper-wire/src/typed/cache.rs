//! A cache of decoded strings, so that equal strings of different objects share their memory.

use std::cell::Cell;

use super::Str;
use crate::quantity;

/// Number of cached strings per thread.
const SLOTS: usize = 4096;

/// Number of cached quantities per thread. A cluster uses few.
const QUANTITIES: usize = 256;

/// Shorter strings are stored inline: sharing them saves nothing.
const MIN_BYTES: usize = 16;

/// Longer strings are rarely repeated, and hashing them takes time.
const MAX_BYTES: usize = 128;

thread_local! {
    static CACHE: Cell<Option<Box<Cache>>> = const { Cell::new(None) };
}

/// The last decoded string of each hash.
#[derive(Debug)]
pub(super) struct Cache {
    slots: Box<[Str]>,
    /// Quantities and their canonical forms.
    quantities: Box<[(Str, Str)]>,
}

impl Cache {
    /// Takes the cache of this thread.
    pub(super) fn take() -> Box<Self> {
        CACHE.take().unwrap_or_else(|| {
            Box::new(Self {
                slots: vec![Str::new(); SLOTS].into(),
                quantities: vec![(Str::inline("0"), Str::inline("0")); QUANTITIES].into(),
            })
        })
    }

    /// Puts the cache back, for the next object.
    pub(super) fn put_back(self: Box<Self>) {
        CACHE.set(Some(self));
    }

    /// Returns a string that shares its memory with an equal one, if one was decoded recently.
    #[inline]
    pub(super) fn share(&mut self, text: &str) -> Str {
        self.share_bytes(text.as_bytes()).expect("a string is UTF-8")
    }
}

impl Cache {
    /// As [`share`](Self::share), for bytes that were not validated; `None` if they are not UTF-8.
    #[inline]
    pub(super) fn share_bytes(&mut self, bytes: &[u8]) -> Option<Str> {
        if !(MIN_BYTES..=MAX_BYTES).contains(&bytes.len()) {
            return Some(Str::from(std::str::from_utf8(bytes).ok()?));
        }
        let slot = &mut self.slots[hash(bytes) % SLOTS];
        if slot.as_bytes() != bytes {
            *slot = Str::from(std::str::from_utf8(bytes).ok()?);
        }
        Some(slot.clone())
    }

    /// Returns the canonical form of a quantity; `None` if it is not a quantity.
    pub(super) fn quantity(&mut self, text: &str) -> Option<Str> {
        let slot = &mut self.quantities[hash(text.as_bytes()) % QUANTITIES];
        if slot.0 != text {
            *slot = (Str::from(text), Str::from(&*quantity::canonical(text)?));
        }
        Some(slot.1.clone())
    }
}

/// A fast hash. Collisions only cost memory.
fn hash(bytes: &[u8]) -> usize {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(23);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(FACTOR);
    }
    (hash >> 40) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_their_memory() {
        let mut cache = Cache::take();
        let image = "registry.example.com/shop/storefront:1.2";
        let (first, second) = (cache.share(image), cache.share(image));
        assert_eq!(first, image);
        assert_eq!(first.as_ptr(), second.as_ptr());
        cache.put_back();
    }

    #[test]
    fn a_collision_returns_the_requested_string() {
        let mut cache = Cache::take();
        for number in 0..3 * SLOTS {
            let text = format!("a string of more than {number} bytes");
            assert_eq!(cache.share(&text), text);
        }
    }
}
