//! Random numbers that need not be secret: jitter, and names.

use watchkeeper_core::uuid_v4;

/// Returns a number in `0.0..1.0`.
pub(crate) fn jitter() -> f64 {
    fastrand::f64()
}

/// A deterministic generator seeded with a name (FNV-1a).
#[derive(Debug, Clone)]
pub(crate) struct Jitter(fastrand::Rng);

impl Jitter {
    pub(crate) fn of(name: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Self(fastrand::Rng::with_seed(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)))
    }

    /// Returns the next number, in `0.0..1.0`.
    pub(crate) fn draw(&mut self) -> f64 {
        self.0.f64()
    }
}

/// Returns a random (version 4) UUID, such as `123e4567-e89b-42d3-a456-426614174000`.
pub(crate) fn uuid() -> String {
    uuid_v4(fastrand::u128(..).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_version_4_and_the_rfc_variant() {
        let (one, other) = (uuid(), uuid());
        assert_ne!(one, other);
        for uuid in [one, other] {
            let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12], "{uuid}");
            assert_eq!(&uuid[14..15], "4", "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
        assert!((0.0..1.0).contains(&jitter()));
    }

    #[test]
    fn equal_names_give_equal_numbers_and_different_names_different_ones() {
        let drawn = |name: &str| {
            let mut jitter = Jitter::of(name);
            (0..1000).map(|_| jitter.draw()).collect::<Vec<_>>()
        };
        assert_eq!(drawn("pod-1"), drawn("pod-1"));
        assert!(drawn("pod-1").iter().zip(&drawn("pod-2")).all(|(one, other)| one != other));
        let mean = drawn("pod-1").iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert!(drawn("").iter().all(|one| (0.0..1.0).contains(one)));
    }
}
