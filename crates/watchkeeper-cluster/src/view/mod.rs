//! Views: the fields that the controllers read, as typed structs.

mod decodable;
mod deployment;
mod meta;
mod pod;
mod replica_set;

pub(crate) use decodable::decodable;
pub(crate) use deployment::{Deployment, DeploymentCondition, DeploymentStatus};
pub(crate) use meta::{Condition, Meta, OwnerReference};
pub(crate) use pod::Pod;
pub(crate) use replica_set::{ReplicaSet, ReplicaSetStatus, selector};
