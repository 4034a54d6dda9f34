//! Strings that are never printed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A string that prints as `[secret]`.
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Returns the string.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "[empty]" } else { "[secret]" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_string() {
        assert_eq!(format!("{:?}", Some(Secret::from("hunter2"))), "Some([secret])");
    }
}
