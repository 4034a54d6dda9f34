//! Implementations for the generated types.

/// Implements the traits and setters of a type: its message, the `apiVersion` and `kind` of an API object, and for each
/// field its slot, name, setter, kind of setter and value.
macro_rules! message {
    (
        $type:ident, $message:literal, $kind:expr;
        $($slot:literal $field:ident $setter:ident: $set:ident $value:ty;)*
    ) => {
        impl watchkeeper_wire::typed::Fields for $type {
            fn get(&self, slot: u8) -> Option<&dyn watchkeeper_wire::typed::Value> {
                match slot {
                    $($slot => Some(&self.$field),)*
                    _ => None,
                }
            }

            fn get_mut(&mut self, slot: u8) -> Option<&mut dyn watchkeeper_wire::typed::Value> {
                match slot {
                    $($slot => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }

        impl watchkeeper_wire::typed::Message for $type {
            const NAME: &'static str = $message;
            const TOKEN: &'static str = concat!("watchkeeper message ", $message);
            const TYPE: Option<(&'static str, &'static str)> = $kind;

            fn schema() -> &'static watchkeeper_wire::schema::Message {
                static SCHEMA: std::sync::LazyLock<&watchkeeper_wire::schema::Message> =
                    std::sync::LazyLock::new(|| watchkeeper_wire::typed::schema_named($message));
                &SCHEMA
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                watchkeeper_wire::typed::debug(self, f)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                watchkeeper_wire::typed::serialize(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                watchkeeper_wire::typed::deserialize(deserializer)
            }
        }

        impl $type {
            $(crate::message::setter!($set $field $setter $value);)*
        }
    };
}

/// Defines the setter of a field.
macro_rules! setter {
    (one $field:ident $setter:ident $value:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $setter(mut self, $field: impl Into<$value>) -> Self {
            self.$field = $field.into();
            self
        }
    };
    (opt $field:ident $setter:ident $value:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $setter(mut self, $field: impl Into<$value>) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (boxed $field:ident $setter:ident $value:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $setter(mut self, $field: impl Into<$value>) -> Self {
            self.$field = Some(Box::new($field.into()));
            self
        }
    };
    (list $field:ident $setter:ident $value:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $setter(mut self, $field: impl IntoIterator<Item = impl Into<$value>>) -> Self {
            self.$field = $field.into_iter().map(Into::into).collect();
            self
        }
    };
    (map $field:ident $setter:ident $value:ty) => {
        #[doc = concat!("Sets `", stringify!($field), "`.")]
        #[must_use]
        pub fn $setter(
            mut self,
            $field: impl IntoIterator<Item = (impl Into<crate::Str>, impl Into<$value>)>,
        ) -> Self {
            self.$field = $field.into_iter().collect();
            self
        }
    };
}

/// Implements [`Resource`](crate::Resource).
macro_rules! resource {
    ($type:ident, $scope:ident, $group:literal, $version:literal, $kind:literal, $plural:literal) => {
        impl crate::Resource for $type {
            type Scope = crate::$scope;

            fn group() -> std::borrow::Cow<'static, str> {
                $group.into()
            }

            fn version() -> std::borrow::Cow<'static, str> {
                $version.into()
            }

            fn kind() -> std::borrow::Cow<'static, str> {
                $kind.into()
            }

            fn plural() -> std::borrow::Cow<'static, str> {
                $plural.into()
            }
        }
    };
}

/// Implements [`Resource`](crate::Resource) and [`Object`](crate::Object), and a constructor.
macro_rules! object {
    ($type:ident, Namespaced, $($name:literal),+) => {
        crate::message::object!($type, Namespaced; $($name),+);

        impl $type {
            /// Creates an object with a name and a namespace.
            pub fn new(name: impl Into<crate::Str>, namespace: impl Into<crate::Str>) -> Self {
                let metadata = crate::api::meta::v1::ObjectMeta::default();
                Self { metadata: metadata.with_name(name).with_namespace(namespace), ..Self::default() }
            }
        }
    };
    ($type:ident, ClusterScoped, $($name:literal),+) => {
        crate::message::object!($type, ClusterScoped; $($name),+);

        impl $type {
            /// Creates an object with a name.
            pub fn new(name: impl Into<crate::Str>) -> Self {
                let metadata = crate::api::meta::v1::ObjectMeta::default();
                Self { metadata: metadata.with_name(name), ..Self::default() }
            }
        }
    };
    ($type:ident, $scope:ident; $($name:literal),+) => {
        crate::message::resource!($type, $scope, $($name),+);

        impl crate::Object for $type {
            fn metadata(&self) -> &crate::api::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut crate::api::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use {message, object, resource, setter};
