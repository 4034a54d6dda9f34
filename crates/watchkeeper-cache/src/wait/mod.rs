//! Wait: for something to become true, and for every event after a version.
//!
//! From: an [`Informer`](crate::Informer), or a [`ListWatch`](watchkeeper_core::ListWatch).
//! To:   who wants one answer ([`until()`]), or each event and no copy ([`RetryWatcher`]).

mod retry_watcher;
mod until;

pub use retry_watcher::{NoVersion, RetryWatcher};
pub use until::{Seen, WaitError, until};
