//! Waiting for a condition, and watching without a cache; client-go's `tools/watch`.
//!
//! Input:  an [`Informer`](crate::Informer), or a [`ListWatch`](watchkeeper_core::ListWatch).
//! Output: the result of a condition ([`until()`]), or a stream of watch events ([`RetryWatcher`]).

mod retry_watcher;
mod until;

pub use retry_watcher::{NoVersion, RetryWatcher};
pub use until::{Seen, WaitError, until};
