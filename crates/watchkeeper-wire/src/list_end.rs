//! List metadata.

use watchkeeper_core::ResourceVersion;

/// The metadata of a list, known once the whole body has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListEnd {
    /// The resource version of the list.
    pub version: ResourceVersion,
    /// The token for the next page, if there is one.
    pub continue_token: Option<String>,
    /// The number of items in the remaining pages, if the server sent it.
    pub remaining: Option<i64>,
    /// `v1`; empty if the body has none.
    pub api_version: String,
    /// `PodList`; empty if the body has none.
    pub kind: String,
}
