//! Seed: what random objects are made of.

use std::env::VarError;

/// The seed unless another is asked for: the gate asks the same each time.
const USUAL: u64 = 1;

/// `$WATCHKEEPER_SEED`, or the usual one. It is printed, for who has to ask again.
///
/// # Panics
/// If what stands there is no number: somebody wants a seed and would get another.
pub fn seed() -> u64 {
    let seed = match std::env::var("WATCHKEEPER_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("WATCHKEEPER_SEED is not a number: {text:?}")),
        Err(VarError::NotPresent) => USUAL,
        Err(VarError::NotUnicode(text)) => panic!("WATCHKEEPER_SEED is not a number: {text:?}"),
    };
    println!("WATCHKEEPER_SEED={seed}");
    seed
}
