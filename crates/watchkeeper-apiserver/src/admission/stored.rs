//! Reads from the store, for plugins.

use std::sync::Arc;

use watchkeeper_core::Status;

use crate::store::{CollectionId, RangeQuery, Store, Stored};
use crate::write::{Draft, unavailable};

/// Returns all objects of a collection, ordered by namespace and name.
pub(crate) async fn all(store: &dyn Store, collection: &'static str) -> Result<Vec<Arc<Stored>>, Status> {
    let query = RangeQuery::all(CollectionId::from(collection));
    Ok(store.range(query).await.map_err(unavailable)?.items)
}

/// Returns the name of the newest object with one of the annotations set to `true`; of equally new ones the first.
pub(super) async fn newest_marked(
    store: &dyn Store,
    collection: &'static str,
    marks: &[&str],
) -> Result<Option<String>, Status> {
    let mut newest: Option<Draft> = None;
    for stored in all(store, collection).await? {
        let class = Draft::of(&stored)?;
        let is_marked = marks.iter().any(|mark| annotation(&class, mark) == Some("true"));
        let is_newer = |newest: &Draft| newest.text("creationTimestamp") < class.text("creationTimestamp");
        if is_marked && newest.as_ref().is_none_or(is_newer) {
            newest = Some(class);
        }
    }
    Ok(newest.map(|class| class.text("name").to_owned()))
}

pub(super) fn annotation<'a>(object: &'a Draft, key: &str) -> Option<&'a str> {
    object.meta("annotations")?.get(key)?.as_str()
}
