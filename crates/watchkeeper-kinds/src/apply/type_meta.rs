//! Zero-sized fields for `apiVersion` and `kind` with a fixed value (`apply.A1`).

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Resource;
use crate::resource::api_version;

macro_rules! fixed_field {
    ($(#[$doc:meta])* $name:ident, $value:expr) => {
        $(#[$doc])*
        pub struct $name<K>(PhantomData<fn() -> K>);

        impl<K: Resource> Serialize for $name<K> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&$value)
            }
        }

        /// Rejects any other value.
        impl<'de, K: Resource> Deserialize<'de> for $name<K> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = Cow::<'de, str>::deserialize(deserializer)?;
                let expected = $value;
                if found == expected { Ok(Self::default()) } else { Err(D::Error::custom(format_args!("found {found:?}, expected {expected:?}"))) }
            }
        }

        impl<K> Clone for $name<K> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<K> Copy for $name<K> {}

        impl<K> Default for $name<K> {
            fn default() -> Self {
                Self(PhantomData)
            }
        }

        impl<K> PartialEq for $name<K> {
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }

        impl<K> Eq for $name<K> {}

        impl<K: Resource> fmt::Debug for $name<K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&$value, f)
            }
        }
    };
}

fixed_field! {
    /// The `apiVersion` of a kind.
    ApiVersionOf, api_version::<K>()
}

fixed_field! {
    /// The `kind` of a kind.
    KindOf, K::kind()
}
