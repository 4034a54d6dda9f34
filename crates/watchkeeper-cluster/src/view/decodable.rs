//! Lists without the objects that cannot be decoded.

use std::sync::Arc;

use watchkeeper_cache::reader::Listed;
use watchkeeper_core::ErrorChain;

/// Returns the objects of a list. Those that cannot be decoded are logged, and ignored by the controller.
pub(crate) fn decodable<K>(listed: Listed<K>) -> Vec<Arc<K>> {
    let (items, undecodable) = listed.partial();
    for error in undecodable {
        tracing::warn!(error = %ErrorChain(&error), "ignoring an object");
    }
    items
}
