//! Sources: adapters to [`ListWatch`](watchkeeper_core::ListWatch).

mod closures;

pub use closures::{Closures, Page, from_closures};
