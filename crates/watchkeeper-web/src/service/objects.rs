//! Objects: a single whole object.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::rest::Content;
use watchkeeper_core::ObjectKey;
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::yaml;

use super::Service;
use super::request::{PathParams, QueryParams, get_attributes, group, key};
use crate::access::Identity;
use crate::catalog::CatalogError;
use crate::envelope::Failure;
use crate::etag::is_known;

/// Group, version, resource, namespace and name.
type Names = (String, String, String, String, String);

/// Output format of an object.
#[derive(Debug, Clone, Copy)]
enum Format {
    Json,
    Yaml,
}

/// An object and its resource version.
struct Found {
    json: Vec<u8>,
    version: String,
}

/// `GET /v1/objects/{group}/{version}/{resource}/{namespace}/{name}`
pub(super) async fn object(
    State(service): State<Service>,
    identity: Identity,
    PathParams((group_name, version, resource, namespace, name)): PathParams<Names>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Failure> {
    let mapping = service.catalog.find(group(&group_name), &version, &resource).await?;
    let query = QueryParams::read(&uri, &["format", "managedFields"])?;
    let format = match query.text("format") {
        None | Some("json") => Format::Json,
        Some("yaml") => Format::Yaml,
        Some(other) => {
            return Err(Failure::bad_request(format!(
                "format: invalid value {other:?}, must be json or yaml"
            )));
        }
    };
    let whole = query.flag("managedFields")?;
    let key = key(&mapping, &namespace, &name)?;
    service.access.authorize(&identity, get_attributes(&mapping, &key)).await?;

    let found = if whole {
        from_api_server(&service, &mapping, &key).await?
    } else {
        from_cache(&service, &mapping, &key).await?
    };
    let etag = HeaderValue::try_from(format!("\"{}\"", found.version)).map_err(Failure::internal)?;
    if is_known(&headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag)]).into_response());
    }
    let is_secret = crate::secret::is_secret(&mapping);
    let (media_type, body) = encode(found.json, format, is_secret)?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static(media_type)), (ETAG, etag)], body).into_response())
}

/// Reads an object from the cache.
async fn from_cache(service: &Service, mapping: &Arc<Mapping>, key: &ObjectKey) -> Result<Found, Failure> {
    let watched = service.catalog.watch(mapping).await?;
    let snapshot = watched.informer.store().snapshot();
    let object = snapshot
        .get(key)
        .ok_or_else(|| Failure::not_found(format!("{} {key} not found", mapping.singular)))?;
    let mut json = Vec::with_capacity(object.encoded.body.len() + 64);
    transcode::to_json(&object.encoded, watched.informer.kind(), Types::Named, &mut json)
        .map_err(Failure::internal)?;
    Ok(Found { json, version: object.metadata.resource_version().to_string() })
}

/// Reads an object from the API server, including fields that the cache drops.
async fn from_api_server(service: &Service, mapping: &Mapping, key: &ObjectKey) -> Result<Found, Failure> {
    if service.catalog.withholds(mapping) {
        return Err(CatalogError::Withheld { resource: mapping.resource.resource.clone() }.into());
    }
    let of = &mapping.resource;
    let mut request = service.catalog.client().rest(&of.group_version(), Content::json()).get();
    if let Some(namespace) = key.namespace() {
        request = request.namespace(namespace);
    }
    let answer = request.resource(&of.resource).name(key.name()).send().await?;
    let json = answer.body.to_vec();
    let value: Value = serde_json::from_slice(&json).map_err(Failure::internal)?;
    let version = value["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    Ok(Found { json, version })
}

fn encode(json: Vec<u8>, format: Format, is_secret: bool) -> Result<(&'static str, Vec<u8>), Failure> {
    if !is_secret && matches!(format, Format::Json) {
        return Ok(("application/json", json));
    }
    let mut value: Value = serde_json::from_slice(&json).map_err(Failure::internal)?;
    if is_secret {
        crate::secret::redact(&mut value);
    }
    match format {
        Format::Json => Ok(("application/json", serde_json::to_vec(&value).map_err(Failure::internal)?)),
        Format::Yaml => Ok(("application/yaml", yaml::write(&value).into_bytes())),
    }
}
