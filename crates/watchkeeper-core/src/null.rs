//! Deserializing `null` as Go does: like an absent field.

use serde::{Deserialize, Deserializer};

/// Deserializes `null` as the default value. Combine with `#[serde(default)]` for absent fields.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
