//! Typed operations on objects: fields, comparison, merge and removal.
//!
//! Invariants:
//! - `typed.M1`: an atomic value is a leaf: it is taken, compared and dropped as a whole.
//! - `typed.M2`: merging lists with identifiable items keeps the order of the live list; new items are placed relative
//!   to the items that both lists have.

mod check;
mod compare;
mod fields;
mod merge;
mod remove;

pub(super) use check::{Misfits, check};
pub(super) use compare::{Comparison, compare, same};
pub(super) use fields::fields_of;
pub(super) use merge::merge;
pub(super) use remove::remove;
