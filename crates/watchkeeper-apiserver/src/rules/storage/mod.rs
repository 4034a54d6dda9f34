//! Storage: claims, volumes and storage classes.

mod claims;
mod classes;
mod volumes;

pub(super) use claims::{Claims, spec as validate_claim_spec};
pub(super) use classes::StorageClasses;
pub(super) use volumes::Volumes;
