//! Type meta: what an object says that it is, as types that can say nothing else (A1).

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use kube_core::Resource;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! says {
    ($(#[$doc:meta])* $name:ident, $method:ident) => {
        $(#[$doc])*
        pub struct $name<K>(PhantomData<fn() -> K>);

        impl<K: Resource<DynamicType = ()>> Serialize for $name<K> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&K::$method(&()))
            }
        }

        /// Anything else is refused.
        impl<'de, K: Resource<DynamicType = ()>> Deserialize<'de> for $name<K> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let said = Cow::<'de, str>::deserialize(deserializer)?;
                let expected = K::$method(&());
                if said == expected { Ok(Self::default()) } else { Err(D::Error::custom(format_args!("{said:?} where {expected:?} was expected"))) }
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

says! {
    /// The `apiVersion` of a kind.
    ApiVersionOf, api_version
}

says! {
    /// The `kind` of a kind.
    KindOf, kind
}
