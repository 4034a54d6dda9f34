//! The words of a status: reasons and causes. Both lists are open: a server can say what is not in
//! them, and it is kept to the letter.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Makes an open list of words: an enum of the known ones, `Unknown` for none and `Other` for the
/// rest.
macro_rules! open_words {
    (
        $(#[$outer:meta])*
        $name:ident {
            $($(#[$inner:meta])* $word:ident = $text:literal,)*
        }
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum $name {
            /// The server did not say: the empty text.
            #[default]
            Unknown,
            $($(#[$inner])* $word,)*
            /// A word that is not in this list. Words are made with `from`, which never puts a
            /// listed one here.
            Other(Box<str>),
        }

        impl $name {
            /// The word as a body writes it.
            pub fn as_str(&self) -> &str {
                match self {
                    Self::Unknown => "",
                    $(Self::$word => $text,)*
                    Self::Other(text) => text,
                }
            }

            /// Whether the server did not say.
            pub fn is_unknown(&self) -> bool {
                *self == Self::Unknown
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    "" => Self::Unknown,
                    $($text => Self::$word,)*
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
                struct Word;
                impl serde::de::Visitor<'_> for Word {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a word")
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok(text.into())
                    }
                }
                deserializer.deserialize_str(Word)
            }
        }
    };
}

open_words! {
    /// Why a request failed, for a program. Each goes with one HTTP status code.
    StatusReason {
        /// 401: the server does not know who asks.
        Unauthorized = "Unauthorized",
        /// 403: who asks may not do this.
        Forbidden = "Forbidden",
        /// 404: there is no such object, or no such resource.
        NotFound = "NotFound",
        /// 409: there is such an object already.
        AlreadyExists = "AlreadyExists",
        /// 409: the object has changed meanwhile, or somebody else owns the field.
        Conflict = "Conflict",
        /// 410: gone for good. Servers up to 1.17 say it for [`Expired`](Self::Expired), too.
        Gone = "Gone",
        /// 422: the object, or a parameter, breaks a rule.
        Invalid = "Invalid",
        /// 500: not now; ask again.
        ServerTimeout = "ServerTimeout",
        /// 500: what is stored cannot be read. On the wire it is `StorageReadError`.
        StoreReadError = "StorageReadError",
        /// 504: it took too long, and may yet be done.
        Timeout = "Timeout",
        /// 429: the server has enough to do; ask later.
        TooManyRequests = "TooManyRequests",
        /// 400: the request makes no sense.
        BadRequest = "BadRequest",
        /// 405: the resource does not take this verb.
        MethodNotAllowed = "MethodNotAllowed",
        /// 406: the server cannot write any of the media types that were asked for.
        NotAcceptable = "NotAcceptable",
        /// 413: the body is too large.
        RequestEntityTooLarge = "RequestEntityTooLarge",
        /// 415: the server cannot read the media type that was sent.
        UnsupportedMediaType = "UnsupportedMediaType",
        /// 500: the server is at fault.
        InternalError = "InternalError",
        /// 410: the version or the page has left the server's history.
        Expired = "Expired",
        /// 503: the server, or one behind it, is down.
        ServiceUnavailable = "ServiceUnavailable",
    }
}

open_words! {
    /// What one of the causes of a status is about, for a program.
    CauseType {
        /// The value refers to something that is not there.
        FieldValueNotFound = "FieldValueNotFound",
        /// The field must be set.
        FieldValueRequired = "FieldValueRequired",
        /// The value must be unique and is not.
        FieldValueDuplicate = "FieldValueDuplicate",
        /// The value is malformed.
        FieldValueInvalid = "FieldValueInvalid",
        /// The value is none of those allowed.
        FieldValueNotSupported = "FieldValueNotSupported",
        /// The value is not allowed here and now.
        FieldValueForbidden = "FieldValueForbidden",
        /// The value is too long.
        FieldValueTooLong = "FieldValueTooLong",
        /// The list has too many entries.
        FieldValueTooMany = "FieldValueTooMany",
        /// The server is at fault, not the value.
        InternalError = "InternalError",
        /// The value has another type than the schema says.
        FieldValueTypeInvalid = "FieldValueTypeInvalid",
        /// What answered is perhaps not an API server.
        UnexpectedServerResponse = "UnexpectedServerResponse",
        /// Another field manager owns the field.
        FieldManagerConflict = "FieldManagerConflict",
        /// The version that was asked for is newer than any the server has seen.
        ResourceVersionTooLarge = "ResourceVersionTooLarge",
    }
}

impl StatusReason {
    /// Whether the word is in this list, so that it counts for more than the HTTP code.
    pub fn is_listed(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Other(_))
    }
}
