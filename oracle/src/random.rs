//! Random: seeded random numbers for test data and choices.

use fastrand::Rng;

/// A random number generator that returns the same sequence for the same seed.
#[derive(Debug)]
pub struct Random(Rng);

impl Random {
    /// Creates a generator. Print the seed when a test fails, or use a fixed one.
    pub fn new(seed: u64) -> Self {
        Self(Rng::with_seed(seed))
    }

    /// Returns an independent generator, seeded from this one.
    pub fn fork(&mut self) -> Self {
        Self(self.0.fork())
    }

    /// Returns a number less than `end`.
    ///
    /// # Panics
    /// Panics if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    /// Returns an index of a slice of this length.
    ///
    /// # Panics
    /// Panics if `length` is 0.
    pub fn index(&mut self, length: usize) -> usize {
        self.0.usize(..length)
    }

    /// Returns true with probability 1/`n`.
    ///
    /// # Panics
    /// Panics if `n` is 0.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Returns one of the values.
    ///
    /// # Panics
    /// Panics if there are none.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }
}
