//! A web service that answers from memory: the pods of a cluster, by namespace and label, with axum.
//!
//! ```sh
//! cargo run --example web_service
//! curl '127.0.0.1:3000/pods/default?labels=app=web'
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::routing::get;
use axum::{Json, Router};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use watchkeeper_cache::{InformerFactory, Keep, Reader};
use watchkeeper_client::Client;
use watchkeeper_core::{Collection, LabelSelector};

/// The fields of a pod that are returned. The cache keeps all of it; these are decoded once per version of a pod.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pod {
    metadata: Metadata,
    status: Status,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Status {
    #[serde(default)]
    phase: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let factory = InformerFactory::new(Client::infer()?);
    let pods = factory.informer(&Collection::PODS).reader::<Pod>(Keep::Decoded);
    factory.start();
    factory.wait_until_ready(Duration::from_secs(30)).await?;

    let app = Router::new().route("/pods/{namespace}", get(list)).with_state(pods);
    axum::serve(TcpListener::bind("127.0.0.1:3000").await?, app).await?;
    Ok(())
}

async fn list(
    State(pods): State<Reader<Pod>>,
    Path(namespace): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Vec<Pod>>, (StatusCode, String)> {
    let labels = query.get("labels").map_or("", String::as_str);
    let labels = LabelSelector::parse(labels).map_err(|why| (StatusCode::BAD_REQUEST, why.to_string()))?;
    let found = pods.namespace(&namespace).list(&labels).items();
    let found = found.map_err(|why| (StatusCode::INTERNAL_SERVER_ERROR, why.to_string()))?;
    Ok(Json(found.iter().map(|pod| Pod::clone(pod)).collect()))
}
