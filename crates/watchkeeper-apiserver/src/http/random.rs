//! Random strings and digests.

use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use watchkeeper_core::uuid_v4;

/// The error of a system that cannot provide random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("failed to get random numbers from the system")]
pub struct NoRandomness;

fn random<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a random token: 256 bits, in hexadecimal.
///
/// # Errors
/// Fails if the system cannot provide random numbers.
pub fn random_token() -> Result<String, NoRandomness> {
    random::<32>().map(|bytes| hex(&bytes))
}

/// Returns a random UID for an object.
///
/// # Errors
/// Fails if the system cannot provide random numbers.
pub fn random_uid() -> Result<String, NoRandomness> {
    random::<16>().map(uuid_v4)
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uids_are_of_version_4_and_differ() {
        let (one, other) = (random_uid().unwrap(), random_uid().unwrap());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]));
    }

    #[test]
    fn tokens_are_long() {
        assert_eq!(random_token().unwrap().len(), 64);
    }
}
