//! Immediate compaction.
//!
//! A store keeps the state at the revision that it is compacted to, so a client that has just listed could continue.
//! Like kube-apiserver's compactor, this code first writes a key of its own, which makes every version that a client
//! can have seen too old.

use crate::store::{
    CollectionId, Precondition, ReadError, Revision, Store, Unversioned, UnversionedError,
    WriteError as StoreWriteError,
};

/// The reason that the store could not be compacted, or not completely.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The store does not accept writes.
    #[error("failed to write the revision to compact to")]
    Write(#[from] StoreWriteError),
    /// The store cannot drop its history.
    #[error("failed to compact the store")]
    Compact(#[from] ReadError),
    /// A bug: the key is malformed.
    #[error("failed to encode the revision to compact to")]
    Encode(#[from] UnversionedError),
}

/// No resource is stored under this name.
const COLLECTION: &str = "watchkeeper/compactions";
const KEY: &[u8] = br#"{"metadata":{"name":"compact_rev_key"}}"#;

pub(crate) async fn compact(store: &dyn Store) -> Result<Revision, CompactError> {
    let marker = Unversioned::from_json(KEY)?;
    let written = store.put(&CollectionId::from(COLLECTION), marker, Precondition::Any).await?;
    store.compact(written.modified()).await?;
    Ok(written.modified())
}
