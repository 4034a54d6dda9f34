//! JSON responses of an API server: lists, watch events, metadata and pruning, without decoding.
//!
//! Input: the chunks of a response body, or the bytes of one object.
//! Output: items and events as bytes, and [`Object`](watchkeeper_core::Object)s for the cache.
//!
//! | task | use |
//! |---|---|
//! | split a list into items | [`ListSplitter`] |
//! | split a watch response into events | [`WatchFrames`] |
//! | parse an object's metadata | [`read_object_meta`] |
//! | remove fields from an object | [`cut()`] |
//! | read an object for the cache | [`read_object`] |
//! | check the size before decoding | [`check_values`] |
//!
//! - `json.J1`: only requested fields are parsed. The rest is skipped by a scan for brackets and quotes at
//!   memory speed, which only checks that they are balanced: decoding finds errors such as `[}` and
//!   invalid UTF-8.
//! - `json.J2`: items, events and errors do not depend on chunk boundaries.

mod cut;
mod keys;
mod list;
mod object;
mod object_meta;
mod object_type;
mod reader;
mod scan;
mod stream;
#[cfg(test)]
#[path = "../../tests/documents/mod.rs"]
mod testing;
mod text;
mod watch;

pub use crate::values::check_json as check_values;
pub use cut::cut;
use keys::Keys;
pub use list::ListSplitter;
pub use object::read_object;
pub use object_meta::read_object_meta;
pub use object_type::read_type;
pub(crate) use reader::{Reader, Shape};
pub(crate) use text::write as write_text;
pub use watch::WatchFrames;
