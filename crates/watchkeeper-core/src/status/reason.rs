//! Reasons and cause types of a status. Both are open sets: unknown values are preserved.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines an enum of known strings, with `Unknown` for the empty string and `Other` for the rest.
macro_rules! open_enum {
    (
        $(#[$outer:meta])*
        $name:ident {
            $($(#[$inner:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum $name {
            /// Unset: the empty string.
            #[default]
            Unknown,
            $($(#[$inner])* $variant,)*
            /// Any other value. `From<&str>` never creates this variant for a known value.
            Other(Box<str>),
        }

        impl $name {
            /// Returns the serialized form.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Unknown => "",
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }

            /// Returns whether the value is unset.
            pub fn is_unknown(&self) -> bool {
                *self == Self::Unknown
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    "" => Self::Unknown,
                    $($text => Self::$variant,)*
                    text => Self::Other(text.into()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok(text.into())
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

open_enum! {
    /// The machine-readable reason of a failure, each with its HTTP status code.
    StatusReason {
        /// 401: the client is not authenticated.
        Unauthorized = "Unauthorized",
        /// 403: the client is not authorized.
        Forbidden = "Forbidden",
        /// 404: the object or resource does not exist.
        NotFound = "NotFound",
        /// 409: the object already exists.
        AlreadyExists = "AlreadyExists",
        /// 409: the object has changed since it was read, or another manager owns the field.
        Conflict = "Conflict",
        /// 410: permanently gone. Servers up to 1.17 also use it for [`Expired`](Self::Expired).
        Gone = "Gone",
        /// 422: the object or a parameter is invalid.
        Invalid = "Invalid",
        /// 500: the operation could not be completed now; retry.
        ServerTimeout = "ServerTimeout",
        /// 500: stored data cannot be read. Serialized as `StorageReadError`.
        StoreReadError = "StorageReadError",
        /// 504: the request timed out, but may still complete.
        Timeout = "Timeout",
        /// 429: the server is overloaded; retry later.
        TooManyRequests = "TooManyRequests",
        /// 400: the request is malformed.
        BadRequest = "BadRequest",
        /// 405: the resource does not support this verb.
        MethodNotAllowed = "MethodNotAllowed",
        /// 406: the server supports none of the accepted media types.
        NotAcceptable = "NotAcceptable",
        /// 413: the body is too large.
        RequestEntityTooLarge = "RequestEntityTooLarge",
        /// 415: the server does not support the media type of the request.
        UnsupportedMediaType = "UnsupportedMediaType",
        /// 500: internal server error.
        InternalError = "InternalError",
        /// 410: the resource version or continue token has expired.
        Expired = "Expired",
        /// 503: the server or a backend is unavailable.
        ServiceUnavailable = "ServiceUnavailable",
    }
}

open_enum! {
    /// The machine-readable type of a [`StatusCause`](crate::StatusCause).
    CauseType {
        /// The value refers to something that does not exist.
        FieldValueNotFound = "FieldValueNotFound",
        /// The field is required.
        FieldValueRequired = "FieldValueRequired",
        /// The value is not unique.
        FieldValueDuplicate = "FieldValueDuplicate",
        /// The value is malformed.
        FieldValueInvalid = "FieldValueInvalid",
        /// The value is not one of the supported values.
        FieldValueNotSupported = "FieldValueNotSupported",
        /// The value is not allowed in this context.
        FieldValueForbidden = "FieldValueForbidden",
        /// The value is too long.
        FieldValueTooLong = "FieldValueTooLong",
        /// The list has too many entries.
        FieldValueTooMany = "FieldValueTooMany",
        /// Internal server error.
        InternalError = "InternalError",
        /// The value does not have the type in the schema.
        FieldValueTypeInvalid = "FieldValueTypeInvalid",
        /// The response may not come from an API server.
        UnexpectedServerResponse = "UnexpectedServerResponse",
        /// Another field manager owns the field.
        FieldManagerConflict = "FieldManagerConflict",
        /// The requested version is newer than the server's.
        ResourceVersionTooLarge = "ResourceVersionTooLarge",
    }
}

impl StatusReason {
    /// Returns whether the reason is known, and thus takes precedence over the HTTP code.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Other(_))
    }
}
