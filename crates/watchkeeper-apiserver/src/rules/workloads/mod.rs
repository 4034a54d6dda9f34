//! Workloads: the kinds whose objects create pods.

mod controller_revisions;
mod cron_jobs;
mod daemon_sets;
pub(crate) mod defaults;
mod deployments;
mod job_status;
mod jobs;
mod replica_sets;
mod replication_controllers;
mod schedule;
mod stateful_sets;
mod status;
mod validate;

pub(super) use controller_revisions::ControllerRevisions;
pub(super) use cron_jobs::CronJobs;
pub(super) use daemon_sets::DaemonSets;
pub(super) use deployments::Deployments;
pub(super) use jobs::Jobs;
pub(super) use replica_sets::ReplicaSets;
pub(super) use replication_controllers::ReplicationControllers;
pub(super) use stateful_sets::StatefulSets;
pub(super) use status::counts;
pub(super) use validate::{at_most_all, share};
