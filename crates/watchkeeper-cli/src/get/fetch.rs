//! Fetching: one request per object, and one per page of a list.

use http::header::ACCEPT;
use serde_json::Value;
use watchkeeper_client::discovery::Mapping;
use watchkeeper_client::rest::{Request, RequestError};
use watchkeeper_core::Paging;

use super::Get;
use crate::failure::Failure;
use crate::output::{self, Colours};
use crate::progress::Progress;
use crate::selection::{Asked, Selection};
use crate::tree::is_silent;

/// A response of the server: an object, a list, or a table.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) mapping: Mapping,
    pub(super) body: Value,
}

impl Fetched {
    /// Returns the resource version of the list.
    pub(super) fn version(&self) -> &str {
        self.body["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }

    /// Returns the objects of a list with their apiVersion and kind, or the single object.
    pub(super) fn into_objects(mut self) -> Vec<Value> {
        let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&self.body["apiVersion"]), text(&self.body["kind"]));
        let kind = kind.strip_suffix("List").unwrap_or(&kind);
        match self.body.get_mut("items").map(Value::take) {
            Some(Value::Array(mut items)) => {
                for item in &mut items {
                    if let Some(fields) = item.as_object_mut()
                        && !fields.contains_key("kind")
                        && !fields.contains_key("apiVersion")
                    {
                        fields.insert("apiVersion".to_owned(), version.as_str().into());
                        fields.insert("kind".to_owned(), kind.into());
                    }
                }
                items
            }
            Some(Value::Null) => Vec::new(), // Go servers encode a nil slice like this
            Some(other) => {
                self.body["items"] = other;
                vec![self.body]
            }
            None => vec![self.body],
        }
    }
}

impl Get<'_> {
    /// Fetches all selected objects. A failed request does not prevent the others.
    pub(super) async fn fetch(&self, selection: &Selection) -> (Vec<Fetched>, Vec<Failure>) {
        let (mut fetched, mut failures) = (Vec::new(), Vec::new());
        match &selection.asked {
            Asked::Lists(mappings) => {
                for mapping in mappings {
                    if let Err(failure) = self.fetch_list(selection, mapping, &mut fetched).await {
                        failures.push(failure);
                    }
                }
            }
            Asked::Named(named) => {
                for (mapping, name) in named {
                    let request = self.request(selection, mapping).name(name);
                    match body(request).await {
                        Ok(body) => fetched.push(Fetched { mapping: mapping.clone(), body }),
                        Err(error) => failures.push(error.into()),
                    }
                }
            }
        }
        (fetched, failures)
    }

    /// Fetches a list page by page.
    async fn fetch_list(
        &self,
        selection: &Selection,
        mapping: &Mapping,
        fetched: &mut Vec<Fetched>,
    ) -> Result<(), Failure> {
        let limit = if self.sort_by.is_some() { 0 } else { self.arguments.chunk_size };
        let mut progress = Progress::of(&mapping.resource.resource);
        let (mut token, mut count) = (String::new(), 0);
        let mut paging = Paging::default();
        loop {
            let mut request = select(self.request(selection, mapping), selection);
            if limit > 0 {
                request = request.param("limit", limit.to_string());
            }
            if !token.is_empty() {
                request = request.param("continue", token.as_str());
            }
            let body = body(request).await.map_err(|error| explain(error, selection, mapping))?;
            let metadata = &body["metadata"];
            token = metadata["continue"].as_str().unwrap_or_default().to_owned();
            let items = ["items", "rows"].iter().filter_map(|items| body[*items].as_array());
            let items = items.map(Vec::len).sum::<usize>();
            count += items;
            if !token.is_empty() {
                paging.advance(items, &token).map_err(|error| Failure::of(&error))?;
                progress.update(count, metadata["remainingItemCount"].as_u64());
            }
            fetched.push(Fetched { mapping: mapping.clone(), body });
            if token.is_empty() {
                return Ok(());
            }
        }
    }

    /// Creates a request for a resource in the format that will be printed.
    pub(super) fn request(&self, selection: &Selection, mapping: &Mapping) -> Request {
        let mut request = self.connection.rest(&mapping.resource.group_version()).get();
        let namespace = selection.namespace_of(mapping);
        if !namespace.is_empty() {
            request = request.namespace(namespace);
        }
        request = request.resource(&mapping.resource.resource);
        if let Some(timeout) = self.connection.timeout {
            request = request.timeout(timeout);
        }
        if self.format.is_table() {
            request = request.header(ACCEPT, output::ACCEPT);
            // The colour is the health of the whole object.
            let is_coloured = Colours::of_stdout() == Colours::Shown && !is_silent(&mapping.resource);
            if self.sort_by.is_some() || is_coloured {
                request = request.param("includeObject", "Object");
            }
        }
        request
    }
}

/// Adds the selectors to a request.
pub(super) fn select(request: Request, selection: &Selection) -> Request {
    let selectors = [("labelSelector", &selection.labels), ("fieldSelector", &selection.fields)];
    request.params(
        selectors.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, text.as_str())),
    )
}

async fn body(request: Request) -> Result<Value, RequestError> {
    request.send().await?.into()
}

/// Adds what was requested to the message of a bad request or not found error, as kubectl does.
fn explain(error: RequestError, selection: &Selection, mapping: &Mapping) -> Failure {
    let RequestError::Api { request, mut status } = error else { return error.into() };
    if status.is_bad_request() || status.is_not_found() {
        let resource = &mapping.resource;
        let what = format!("{}/{}, Resource={}", resource.group, resource.version, resource.resource);
        let Selection { labels, fields, .. } = selection;
        status.message = if labels.is_empty() && fields.is_empty() {
            format!("Unable to list {what:?}: {}", status.message)
        } else {
            format!(
                "Unable to find {what:?} that match label selector {labels:?}, field selector {fields:?}: {}",
                status.message
            )
        };
    }
    RequestError::Api { request, status }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn objects(body: Value) -> Vec<Value> {
        let kind = watchkeeper_core::GroupVersion::new("", "v1").kind("Pod");
        let resource = watchkeeper_core::GroupVersion::new("", "v1").resource("pods");
        let mapping = Mapping { resource, kind, singular: "pod".into(), namespaced: true };
        Fetched { mapping, body }.into_objects()
    }

    #[test]
    fn list_items_get_api_version_and_kind() {
        let list = json!({"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {}}]});
        assert_eq!(objects(list), [json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}})]);
        let typed =
            json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "A", "apiVersion": "b/v1"}]});
        assert_eq!(objects(typed), [json!({"kind": "A", "apiVersion": "b/v1"})]);
        assert_eq!(objects(json!({"kind": "PodList", "items": null})), [Value::Null; 0]);
        assert_eq!(objects(json!({"kind": "Pod"})), [json!({"kind": "Pod"})]);
        assert_eq!(
            objects(json!({"kind": "Odd", "items": {"a": 1}})),
            [json!({"kind": "Odd", "items": {"a": 1}})]
        );
    }
}
