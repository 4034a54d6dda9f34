//! Compaction, now: what the store does by itself only in time.
//!
//! A store keeps the state at the revision that it is compacted to, so that whoever has just listed
//! could go on unharmed. As the compactor of kube-apiserver does, this one writes a key of its own
//! first: then every version that a client can have seen is too old.

use crate::store::{
    Collection, Expect, NoPlace, ReadError, Revision, Store, Unversioned, WriteError as StoreWriteError,
};

/// Why nothing was forgotten, or not all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The store takes no writes.
    #[error("the revision to compact to cannot be made")]
    Write(#[from] StoreWriteError),
    /// The store forgets nothing.
    #[error("the store cannot be compacted")]
    Compact(#[from] ReadError),
    /// A bug: the key is malformed.
    #[error("the revision to compact to cannot be encoded")]
    Encode(#[from] NoPlace),
}

/// No resource is stored under this name.
const COLLECTION: &str = "watchkeeper/compactions";
const KEY: &[u8] = br#"{"metadata":{"name":"compact_rev_key"}}"#;

pub(crate) async fn compact(store: &dyn Store) -> Result<Revision, CompactError> {
    let marker = Unversioned::from_json(KEY)?;
    let written = store.put(&Collection::from(COLLECTION), marker, Expect::Any).await?;
    store.compact(written.modified()).await?;
    Ok(written.modified())
}
