//! Resource versions: opaque for equality, ordered only where Kubernetes defines it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The resource version of an object or a list.
///
/// Two versions are equal if their texts are equal. [`compare`](Self::compare) orders two versions
/// where Kubernetes defines it: both must be decimal numbers without a leading zero. All other
/// versions are opaque.
///
/// ```
/// use std::cmp::Ordering;
/// use watchkeeper_core::ResourceVersion;
///
/// let old = ResourceVersion::from("999");
/// let new = ResourceVersion::from("1000");
/// assert_eq!(old.compare(&new), Ok(Ordering::Less));
/// assert!(ResourceVersion::from("v2-abc").compare(&new).is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

/// `version.V1`: a text is stored as `Number` exactly if formatting the number restores the text, so
/// that equal representations mean equal texts.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

/// An error from comparing versions that have no defined order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "resource versions {left} and {right} cannot be compared: both must be decimal numbers without a leading zero"
)]
pub struct NotComparable {
    /// The receiver of the comparison.
    pub left: ResourceVersion,
    /// The other version.
    pub right: ResourceVersion,
}

impl ResourceVersion {
    /// `"0"`, which requests any version.
    pub const ANY: Self = Self(Repr::Number(0));

    /// Compares two versions by age.
    ///
    /// # Errors
    /// [`NotComparable`] unless both are non-empty decimal numbers without a leading zero. `"0"` is
    /// not comparable: no object has this version.
    pub fn compare(&self, other: &Self) -> Result<Ordering, NotComparable> {
        let order = match (&self.0, &other.0) {
            (Repr::Number(left), Repr::Number(right)) if *left > 0 && *right > 0 => Some(left.cmp(right)),
            (Repr::Number(0), _) | (_, Repr::Number(0)) => None,
            _ => {
                let (left, right) = (self.to_string(), other.to_string());
                (is_decimal(&left) && is_decimal(&right))
                    .then(|| left.len().cmp(&right.len()).then_with(|| left.cmp(&right)))
            }
        };
        order.ok_or_else(|| NotComparable { left: self.clone(), right: other.clone() })
    }

    /// Returns the version as a number if it fits 64 bits, as all versions from etcd do.
    pub fn as_u64(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }

    /// Returns whether the version is empty, as that of an object that was never stored.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Repr::Text(text) if text.is_empty())
    }
}

/// The empty version.
impl Default for ResourceVersion {
    fn default() -> Self {
        Self::from("")
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        Self(Repr::Number(number))
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        let canonical = text == "0" || is_decimal(text);
        match text.parse() {
            Ok(number) if canonical => Self(Repr::Number(number)), // version.V1
            _ => Self(Repr::Text(text.into())),
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => fmt::Display::fmt(number, f),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{self}")
    }
}

impl Serialize for ResourceVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ResourceVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = ResourceVersion;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a resource version string")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ResourceVersion, E> {
                Ok(text.into())
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn version(text: &str) -> ResourceVersion {
        text.into()
    }

    #[test]
    fn versions_compare_by_length_and_then_by_digits() {
        assert_eq!(version("9").compare(&version("10")), Ok(Ordering::Less));
        assert_eq!(version("12").compare(&version("11")), Ok(Ordering::Greater));
        assert_eq!(version("7").compare(&version("7")), Ok(Ordering::Equal));
        let huge = version("123456789012345678901234567890");
        assert_eq!(huge.compare(&version("5")), Ok(Ordering::Greater));
        assert_eq!(huge.compare(&version("123456789012345678901234567891")), Ok(Ordering::Less));
    }

    #[test]
    fn zero_empty_text_leading_zeros_and_words_are_not_comparable() {
        for text in ["0", "", "007", "abc", "-1", "+1", "1.5", "१"] {
            assert!(version(text).compare(&version("5")).is_err(), "{text:?} on the left");
            assert!(version("5").compare(&version(text)).is_err(), "{text:?} on the right");
        }
    }

    #[test]
    fn a_leading_zero_makes_a_different_version() {
        assert_ne!(version("07"), version("7"));
        assert_eq!(version("+7").to_string(), "+7");
    }

    proptest! {
        #[test]
        fn any_text_is_preserved(text in "\\PC{0,24}|[0-9]{0,24}") {
            prop_assert_eq!(version(&text).to_string(), text);
        }

        #[test]
        fn numbers_compare_as_numbers(left in 1..u64::MAX, right in 1..u64::MAX) {
            prop_assert_eq!(ResourceVersion::from(left).compare(&right.into()), Ok(left.cmp(&right)));
        }
    }
}
