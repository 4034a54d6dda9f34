//! Encodings of the Kubernetes API: JSON, protobuf, YAML and gzip, without I/O and without an
//! intermediate tree.
//!
//! Input: the chunks of a response body, in any sizes.
//! Output: [`Object`](watchkeeper_core::Object)s for the cache, and any `Deserialize` type.

mod annotations;
mod decode;
pub mod document;
mod either;
mod field;
mod frame;
pub mod gzip;
pub mod json;
pub mod json_path;
mod kind;
mod limits;
mod malformed;
mod paths;
pub mod protobuf;
pub mod quantity;
mod read_options;
pub mod schema;
pub mod transcode;
pub mod typed;
mod values;
pub mod yaml;

pub use annotations::Annotations;
pub use decode::{DecodeError, decode, decode_bytes};
pub use either::{ListSplitter, WatchFrames, read_object_meta};
pub use field::read_field;
pub use frame::Frame;
pub use kind::Kind;
pub use limits::{Limits, MESSAGE_DEPTH};
pub use malformed::{Malformed, Problem};
pub use paths::{FieldPath, FieldPathError, Node, Paths};
pub use read_options::ReadOptions;
