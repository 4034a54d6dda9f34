//! Seed: makes random test data reproducible.

use std::env::VarError;

/// The default seed, fixed so that CI is deterministic.
const DEFAULT: u64 = 1;

/// Returns `$WATCHKEEPER_SEED`, or the default seed if it is not set. Prints it, so that a failure can be reproduced.
///
/// # Panics
/// Panics if the variable is not a number, rather than run with another seed than the requested one.
pub fn seed() -> u64 {
    let seed = match std::env::var("WATCHKEEPER_SEED") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("WATCHKEEPER_SEED is not a number: {text:?}")),
        Err(VarError::NotPresent) => DEFAULT,
        Err(VarError::NotUnicode(text)) => panic!("WATCHKEEPER_SEED is not a number: {text:?}"),
    };
    println!("WATCHKEEPER_SEED={seed}");
    seed
}
