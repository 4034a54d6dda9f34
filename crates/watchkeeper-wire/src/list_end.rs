//! What stands around the items of a list.

use watchkeeper_core::ResourceVersion;

/// What a list says of itself, known once all of it has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListEnd {
    /// The version that the list is a snapshot of.
    pub version: ResourceVersion,
    /// What to ask the next page with, if there is one.
    pub continue_token: Option<String>,
    /// How many items the following pages have, where the server says so.
    pub remaining: Option<i64>,
    /// `v1`; empty where the body did not say.
    pub api_version: String,
    /// `PodList`; empty where the body did not say.
    pub kind: String,
}
