//! Reading `null` as Go reads it: as if the field were not there.

use serde::{Deserialize, Deserializer};

/// For `#[serde(deserialize_with = ...)]`, together with `default` for the field that is not there.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
