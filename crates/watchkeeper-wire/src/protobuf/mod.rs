//! Protobuf responses of an API server: envelope, lists, watch events, metadata and pruning, without
//! decoding.

mod chunks;
mod cursor;
mod cut;
mod envelope;
mod frames;
mod object;
mod object_meta;
mod split;
mod time;

pub(crate) use cursor::{Cursor, Tag, Wire, put_bytes, put_tag, put_varint};
pub use cut::{Cut, UnknownPath};
pub use envelope::{Envelope, MAGIC, WRAP_END, peek_type, wrap, wrap_start, wrap_written};
pub use frames::WatchFrames;
pub use object::read_object;
pub use object_meta::read_object_meta;
pub use split::ListSplitter;
pub(crate) use time::read_time;
