//! Typed: the fields of an object, and two objects made one, by their type.
//!
//! - M1: what has one owner is a leaf: it is taken, compared and dropped as a whole.
//! - M2: a list whose items can be told apart keeps the order of what was there; items of what comes on top stand
//!   where that puts them among those that both have.

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
