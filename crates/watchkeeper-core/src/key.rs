//! Object keys: the namespace and name of an object.
//!
//! The text form is client-go's: `namespace/name`, or `name` for cluster-scoped resources.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

/// The namespace, if any, and the name of an object.
///
/// Cloning is cheap: the text is shared. Keys order by namespace and then by name, with
/// cluster-scoped keys first, as an API server lists them.
///
/// ```
/// use watchkeeper_core::ObjectKey;
///
/// let key: ObjectKey = "kube-system/coredns".parse()?;
/// assert_eq!(key.namespace(), Some("kube-system"));
/// assert_eq!(key.name(), "coredns");
/// assert_eq!(key, ObjectKey::namespaced("kube-system", "coredns"));
/// # Ok::<(), watchkeeper_core::KeyError>(())
/// ```
#[derive(Clone)]
pub struct ObjectKey {
    /// `namespace/name` or `name`.
    text: Arc<str>,
    /// Length of the namespace; 0 for a cluster-scoped key, which has no slash.
    namespace: u32,
}

impl ObjectKey {
    /// Creates a key. With an empty namespace it is cluster-scoped.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        if namespace.is_empty() {
            return Self::cluster(name);
        }
        let mut text = String::with_capacity(namespace.len() + 1 + name.len());
        text.push_str(namespace);
        text.push('/');
        text.push_str(name);
        let length = u32::try_from(namespace.len()).expect("a namespace is far shorter than 4 GiB");
        Self { text: text.into(), namespace: length }
    }

    /// Creates the key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self { text: name.into(), namespace: 0 }
    }

    /// Returns the namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        (self.namespace > 0).then(|| &self.text[..self.namespace as usize])
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        match self.namespace {
            0 => &self.text,
            length => &self.text[length as usize + 1..],
        }
    }

    /// Returns the text form, `namespace/name` or `name`.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// An error from parsing an [`ObjectKey`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text has more than one slash.
    #[error("object key {text:?} has more than one slash")]
    TooManyParts {
        /// The rejected text.
        text: String,
    },
    /// The name is empty.
    #[error("object key {text:?} has no name")]
    NoName {
        /// The rejected text.
        text: String,
    },
}

impl FromStr for ObjectKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        if name.contains('/') {
            return Err(KeyError::TooManyParts { text: text.to_owned() });
        }
        if name.is_empty() {
            return Err(KeyError::NoName { text: text.to_owned() });
        }
        Ok(Self::namespaced(namespace, name))
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.text == other.text
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> Ordering {
        // Differs from the order of the text forms, where `a-b/x` sorts before `a/x`.
        (self.namespace(), self.name()).cmp(&(other.namespace(), other.name()))
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_scoped_key_has_no_slash() {
        let key = ObjectKey::namespaced("", "node-1");
        assert_eq!(key.to_string(), "node-1");
        assert_eq!(key.namespace(), None);
        assert_eq!(key, ObjectKey::cluster("node-1"));
    }

    #[test]
    fn keys_round_trip_through_text() {
        for text in ["default/web-0", "node-1", "a/b"] {
            assert_eq!(text.parse::<ObjectKey>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn keys_with_three_parts_or_without_a_name_are_rejected() {
        assert_eq!("a/b/c".parse::<ObjectKey>(), Err(KeyError::TooManyParts { text: "a/b/c".into() }));
        assert_eq!("a/".parse::<ObjectKey>(), Err(KeyError::NoName { text: "a/".into() }));
        assert_eq!("".parse::<ObjectKey>(), Err(KeyError::NoName { text: "".into() }));
    }

    #[test]
    fn keys_order_by_namespace_before_name() {
        let mut keys: Vec<ObjectKey> =
            ["a/x", "a-b/x", "z", "a/b"].iter().map(|text| text.parse().unwrap()).collect();
        keys.sort();
        let texts: Vec<&str> = keys.iter().map(ObjectKey::as_str).collect();
        assert_eq!(texts, ["z", "a/b", "a/x", "a-b/x"]);
    }
}
