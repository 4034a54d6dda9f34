//! Views: as much of an object as the controllers look at.

mod meta;

pub(crate) use meta::{Condition, Meta, OwnerReference};
