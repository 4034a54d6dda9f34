//! Workloads: a deployment with its replica set and pods.

use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::Service;
use super::request::{PathParams, QueryParams};
use crate::access::{Identity, ResourceAttributes};
use crate::envelope::{Failure, success};
use crate::workload::WorkloadError;

/// The reads that a workload needs: verb, group, resource.
const PARTS: [(&str, &str, &str); 4] = [
    ("get", "apps", "deployments"),
    ("list", "apps", "replicasets"),
    ("list", "", "pods"),
    ("list", "", "events"),
];

/// `GET /v1/workloads/{namespace}/{deployment}`
pub(super) async fn workload(
    State(service): State<Service>,
    identity: Identity,
    PathParams((namespace, deployment)): PathParams<(String, String)>,
    uri: Uri,
) -> Result<Response, Failure> {
    QueryParams::read(&uri, &[])?;
    for (verb, group, resource) in PARTS {
        let name = if verb == "get" { deployment.as_str() } else { "" };
        service
            .access
            .authorize(&identity, ResourceAttributes { verb, group, resource, namespace: &namespace, name })
            .await?;
    }
    for (_, group, resource) in PARTS {
        service.catalog.watched(group, "v1", resource).await?;
    }
    match service.workloads.get(&namespace, &deployment) {
        Ok(workload) => Ok(success(workload)),
        Err(error @ WorkloadError::Absent { .. }) => Err(Failure::not_found(error.to_string())),
        Err(error) => Err(Failure::internal(error)),
    }
}
