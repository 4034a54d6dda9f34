//! Keys: which object a key of etcd's is.

use bytes::Bytes;
use watchkeeper_core::ObjectKey;

/// Which object a key of etcd's is.
///
/// Two keys must not be the same object. A closure will do:
///
/// ```
/// use watchkeeper_core::ObjectKey;
/// use watchkeeper_etcd::Keys;
///
/// // services/NAME/REGION: the region is the namespace
/// let keys = |key: &[u8]| {
///     let key = std::str::from_utf8(key).ok()?.strip_prefix("services/")?;
///     let (name, region) = key.split_once('/')?;
///     Some(ObjectKey::namespaced(region, name))
/// };
/// assert_eq!(keys.object_key(b"services/web/eu"), Some(ObjectKey::namespaced("eu", "web")));
/// ```
pub trait Keys: Send + Sync {
    /// The object; `None` if the key is none of the collection, and passed over.
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey>;
}

impl<F: Fn(&[u8]) -> Option<ObjectKey> + Send + Sync> Keys for F {
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey> {
        self(key)
    }
}

/// `PREFIX/NAMESPACE/NAME` or `PREFIX/NAME`. Keys with more parts, with empty ones, or that are not UTF-8, are no
/// objects. It makes no difference whether the prefix ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderPrefix {
    /// Without a slash at the end.
    prefix: Bytes,
}

impl UnderPrefix {
    /// Under this prefix.
    pub fn new(prefix: impl Into<Bytes>) -> Self {
        let prefix = prefix.into();
        Self { prefix: prefix.strip_suffix(b"/").map_or_else(|| prefix.clone(), Bytes::copy_from_slice) }
    }
}

impl Keys for UnderPrefix {
    fn object_key(&self, key: &[u8]) -> Option<ObjectKey> {
        let key = key.strip_prefix(&*self.prefix)?;
        // Without any prefix, keys need not begin with a slash.
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
    fn what_follows_the_prefix_is_a_name_or_a_namespace_and_a_name() {
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
            let found = UnderPrefix::new(prefix).object_key(key);
            assert_eq!(found.as_ref().map(ObjectKey::as_str), expected, "{prefix:?} {key:?}");
        }
    }
}
