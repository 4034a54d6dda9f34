//! Random numbers for jitter. Not cryptographically secure.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A splitmix64 generator, reproducible from its seed.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Creates a generator with a random seed.
    pub(super) fn fresh() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// Returns a number in `0.0..1.0`.
    pub(super) fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_fill_the_range_evenly_and_repeat_with_the_seed() {
        let mut random = Random::seeded(7);
        let some: Vec<f64> = (0..10_000).map(|_| random.fraction()).collect();
        assert!(some.iter().all(|it| (0.0..1.0).contains(it)));
        for tenth in 0..10 {
            let within = |it: &&f64| (**it * 10.0) as u32 == tenth;
            assert!((800..1200).contains(&some.iter().filter(within).count()), "of tenth {tenth}");
        }
        let mut again = Random::seeded(7);
        assert!(some.iter().all(|it| *it == again.fraction()));
        assert_ne!(Random::fresh().fraction(), Random::fresh().fraction());
    }
}
