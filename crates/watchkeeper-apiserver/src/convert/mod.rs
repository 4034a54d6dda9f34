//! Conversion: one object, shown by several versions that have not the same fields.
//!
//! From: an object in the form in which it is stored, or as a version of it shows it.
//! To:   the other.
//!
//! - C1: what is stored, shown and stored again is what it was.

mod autoscaler;
mod metadata;
mod metric;

pub(crate) use autoscaler::{drop_carriers, is_old_autoscaler, show_autoscaler, store_autoscaler};
pub(crate) use metadata::{TEMPLATE_GENERATION, metadata_alone};
