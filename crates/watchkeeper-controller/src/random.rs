//! Random numbers, for what need not be secret: waits, and names.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

pub(crate) fn bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// At least 0 and less than 1.
pub(crate) fn chance() -> f64 {
    (bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// `123e4567-e89b-42d3-a456-426614174000`.
pub(crate) fn uuid() -> String {
    let (high, low) = (bits(), bits());
    let version = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
    let variant = (low >> 2) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        version >> 32,
        (version >> 16) & 0xffff,
        version & 0xffff,
        variant >> 48,
        variant & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_says_that_it_is_random() {
        let (one, other) = (uuid(), uuid());
        assert_ne!(one, other);
        for uuid in [one, other] {
            let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12], "{uuid}");
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
        assert!((0.0..1.0).contains(&chance()));
    }
}
