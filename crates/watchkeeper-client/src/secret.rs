//! Strings that are never printed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that is not for logs: it shows as `[secret]`.
/// A string that prints as `[secret]`.
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself.
    /// Returns the string.
        &self.0
    }

    /// Whether there is no text.
    /// Returns whether the string is empty.
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
