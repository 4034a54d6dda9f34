//! Maps etcd keys to object keys.

use bytes::Bytes;
use watchkeeper_core::ObjectKey;

/// A mapping from etcd keys to object keys. Distinct keys must map to distinct objects. Implemented by closures:
///
/// ```
/// use watchkeeper_core::ObjectKey;
/// use watchkeeper_etcd::KeyMapper;
///
/// // services/NAME/REGION: the region is the namespace
/// let keys = |key: &[u8]| {
///     let key = std::str::from_utf8(key).ok()?.strip_prefix("services/")?;
///     let (name, region) = key.split_once('/')?;
///     Some(ObjectKey::namespaced(region, name))
/// };
/// assert_eq!(keys.object_key(b"services/web/eu"), Some(ObjectKey::namespaced("eu", "web")));
/// ```
pub trait KeyMapper: Send + Sync {
    /// Returns the object key; `None` skips the key.
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey>;
}

impl<F: Fn(&[u8]) -> Option<ObjectKey> + Send + Sync> KeyMapper for F {
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey> {
        self(key)
    }
}

/// A mapping of `PREFIX/NAMESPACE/NAME` and `PREFIX/NAME`. Keys with more parts, with empty ones or that are not UTF-8
/// are skipped. A slash at the end of the prefix makes no difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixKeys {
    /// Without a slash at the end.
    prefix: Bytes,
}

impl PrefixKeys {
    /// Creates a mapper for a prefix.
    pub fn new(prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        Self { prefix: prefix.strip_suffix(b"/").map_or_else(|| prefix.clone(), Bytes::copy_from_slice) }
    }
}

impl KeyMapper for PrefixKeys {
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey> {
        let key = key.strip_prefix(&*self.prefix)?;
        // With an empty prefix, keys need not begin with a slash.
        let key = key.strip_prefix(b"/").or(self.prefix.is_empty().then_some(key))?;
        let key = std::str::from_utf8(key).ok()?;
        let (namespace, name) = match key.split_once('/') {
            Some(("", _)) => return None,
            Some(parts) => parts,
            None => ("", key),
        };
        let is_name = !name.is_empty() && !name.contains('/');
        is_name.then(|| ObjectKey::namespaced(namespace, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_below_the_prefix_are_names_or_namespaced_names() {
        let table: [(&str, &[u8], Option<&str>); 14] = [
            ("/pods/", b"/pods/web", Some("web")),
            ("/pods", b"/pods/web", Some("web")),
            ("/pods", b"/pods/shop/web", Some("shop/web")),
            ("/pods/", b"/pods/shop/web", Some("shop/web")),
            ("/pods", b"/pods2/web", None),
            ("/pods", b"/pods", None),
            ("/pods", b"/pods/", None),
            ("/pods", b"/pods//web", None),
            ("/pods", b"/pods/shop/", None),
            ("/pods", b"/pods/a/b/c", None),
            ("/pods", b"/pods/\xff", None),
            ("", b"web", Some("web")),
            ("", b"/shop/web", Some("shop/web")),
            ("/pods", b"web", None),
        ];
        for (prefix, key, expected) in table {
            let found = PrefixKeys::new(prefix).object_key(key);
            assert_eq!(found.as_ref().map(ObjectKey::as_str), expected, "{prefix:?} {key:?}");
        }
    }
}
