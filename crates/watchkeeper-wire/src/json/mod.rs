//! JSON as an API server sends it: lists, watch frames, heads and cutting, all on the bytes.
//!
//! From: the chunks of a response body, or the bytes of one object.
//! To:   items and events as bytes; [`Object`](watchkeeper_core::Object)s for the cache.
//!
//! | question | answered by |
//! |---|---|
//! | which bytes are the items of this list? | [`ListSplitter`] |
//! | which bytes are the events of this watch? | [`WatchFrames`] |
//! | which object is this, in which version? | [`read_head`] |
//! | what are its bytes without these fields? | [`cut()`] |
//! | what does the cache keep of it? | [`read_object`] |
//! | is it worth decoding? | [`check_values`] |
//!
//! - J1: a byte is parsed only if somebody asked for what it says. Whatever else an object holds is
//!   passed over by a scan for brackets and quotes, at the speed of memory, and is known to be
//!   balanced and nothing more: `[}` and bad UTF-8 in it are found by whoever decodes it.
//! - J2: what comes in chunks gives the same items, events and errors in any chunks.

mod cut;
mod head;
mod keys;
mod list;
mod object;
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
pub use head::read_head;
use keys::Keys;
pub use list::ListSplitter;
pub use object::read_object;
pub use object_type::read_type;
pub(crate) use reader::{Reader, Shape};
pub use watch::WatchFrames;
