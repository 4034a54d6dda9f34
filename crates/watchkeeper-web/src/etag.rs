//! Tags: whether a client has what it asks for.

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderValue};

/// Whether the client says that it has what bears this tag. A tag may have become weak on its way through something
/// that compresses.
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let matches = |said: &str| said == "*" || said.trim_start_matches("W/").as_bytes() == tag.as_bytes();
    let mut said = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    said.any(|tags| tags.split(',').any(|each| matches(each.trim())))
}
