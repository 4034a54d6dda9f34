//! ETags: conditional requests.

use http::header::IF_NONE_MATCH;
use http::{HeaderMap, HeaderValue};

/// Returns whether `If-None-Match` contains this tag. Ignores a weak prefix, which a compressing proxy may add.
pub(crate) fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let matches = |known: &str| known == "*" || known.trim_start_matches("W/").as_bytes() == tag.as_bytes();
    let mut known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    known.any(|tags| tags.split(',').any(|each| matches(each.trim())))
}
