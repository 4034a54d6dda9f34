//! Source: what can be made into a [`ListWatch`](watchkeeper_core::ListWatch) without being one.

mod closures;

pub use closures::{Closures, Page, from_closures};
