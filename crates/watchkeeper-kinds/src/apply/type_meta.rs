//! Zero-sized fields for `apiVersion` and `kind` with a fixed value (`apply.A1`).

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kube_core::Resource;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! fixed_field {
    ($(#[$doc:meta])* $name:ident, $method:ident) => {
        $(#[$doc])*
        pub struct $name<K>(PhantomData<fn() -> K>);

        impl<K: Resource<DynamicType = ()>> Serialize for $name<K> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&K::$method(&()))
            }
        }

        /// Rejects any other value.
        impl<'de, K: Resource<DynamicType = ()>> Deserialize<'de> for $name<K> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = Cow::<'de, str>::deserialize(deserializer)?;
                let expected = K::$method(&());
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

        impl<K: Resource<DynamicType = ()>> fmt::Debug for $name<K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&K::$method(&()), f)
            }
        }
    };
}

fixed_field! {
    /// The `apiVersion` of a kind.
    ApiVersionOf, api_version
}

fixed_field! {
    /// The `kind` of a kind.
    KindOf, kind
}
