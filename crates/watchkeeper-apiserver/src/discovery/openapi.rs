//! OpenAPI v3, as far as kubectl needs it to create, apply and explain: the writes, their kinds and query parameters,
//! and the fields of the kinds.
//!
//! Patch operations do not declare their media types. As long as they do not, kubectl uses its built-in rules for
//! merging lists; otherwise it would look for them in the schemas.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::schemas::schemas;
use super::{Document, JSON};
use crate::registry::{Registry, Resource, Verb, Verbs};

/// Returns the index of `/openapi/v3`: the URL of the document of each group version.
pub fn openapi_index(registry: &Registry) -> Document {
    let mut paths = BTreeMap::new();
    for group in registry.groups() {
        for version in registry.versions(group) {
            let path = path_of(group, version);
            let hash = openapi(registry, group, version).map(|document| document.etag).unwrap_or_default();
            let server_relative_url = format!("/openapi/v3{path}?hash={}", hash.trim_matches('"'));
            paths.insert(path.trim_start_matches('/').to_owned(), IndexEntry { server_relative_url });
        }
    }
    Document::new(&Index { paths }, JSON)
}

/// Returns the document of a group version, or `None` if it is not served.
pub fn openapi(registry: &Registry, group: &str, version: &str) -> Option<Document> {
    registry.resources(group, version).next()?;
    let mut paths = BTreeMap::new();
    for row in registry.resources(group, version) {
        let scope = if row.is_namespaced() { "/namespaces/{namespace}" } else { "" };
        let all = format!("{}{scope}/{}", path_of(group, version), row.name);
        let one = format!("{all}/{{name}}");
        let kind = row.group_version_kind();
        let kind = Kind { group: kind.group, kind: kind.kind, version: kind.version };
        let mut insert = |path: String, verbs: Verbs, create: bool, kind: &Kind| {
            let item = PathItem::of(row, path.contains("{name}"), verbs, create, kind);
            if !item.is_empty() {
                paths.insert(path, item);
            }
        };
        insert(all, only(row.verbs, &[Verb::Create]), true, &kind);
        insert(one.clone(), only(row.verbs, &[Verb::Patch, Verb::Update]), false, &kind);
        // Subresources that take options in the query are connections, not writes.
        for sub in row.subresources.iter().filter(|sub| !sub.kind.ends_with("Options")) {
            let kind = sub.group_version_kind(row);
            let kind = Kind { group: kind.group, kind: kind.kind, version: kind.version };
            insert(format!("{one}/{}", sub.name), sub.verbs, true, &kind);
        }
    }
    let info = Info { title: "Kubernetes", version: "unversioned" };
    let components = Components { schemas: schemas(registry, group, version) };
    Some(Document::new(&OpenApi { openapi: "3.0.0", info, paths, components }, JSON))
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

fn only(verbs: Verbs, wanted: &[Verb]) -> Verbs {
    verbs.iter().filter(|verb| wanted.contains(verb)).collect()
}

#[derive(Serialize)]
struct Index {
    paths: BTreeMap<String, IndexEntry>,
}

#[derive(Serialize)]
struct IndexEntry {
    #[serde(rename = "serverRelativeURL")]
    server_relative_url: String,
}

#[derive(Serialize)]
struct OpenApi {
    openapi: &'static str,
    info: Info,
    paths: BTreeMap<String, PathItem>,
    components: Components,
}

#[derive(Serialize)]
struct Components {
    schemas: BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct Info {
    title: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct PathItem {
    parameters: Vec<Parameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post: Option<Operation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    put: Option<Operation>,
}

#[derive(Serialize)]
struct Operation {
    parameters: Vec<Parameter>,
    responses: BTreeMap<&'static str, OperationResponse>,
    #[serde(rename = "x-kubernetes-action")]
    action: &'static str,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kind: Kind,
}

#[derive(Serialize)]
struct OperationResponse {
    description: &'static str,
}

#[derive(Serialize, Clone)]
struct Kind {
    group: String,
    kind: String,
    version: String,
}

#[derive(Serialize)]
struct Parameter {
    #[serde(rename = "in")]
    place: &'static str,
    name: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    required: bool,
    schema: ParameterSchema,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterSchema {
    #[serde(rename = "type")]
    form: &'static str,
    unique_items: bool,
}

impl PathItem {
    fn of(row: &Resource, named: bool, verbs: Verbs, create: bool, kind: &Kind) -> Self {
        const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
        let operation = |verb: Verb, action: &'static str, code: &'static str, query: &[&'static str]| {
            verbs.contains(verb).then(|| Operation {
                parameters: query.iter().map(|name| Parameter::query(name)).collect(),
                responses: BTreeMap::from([(
                    code,
                    OperationResponse { description: if code == "201" { "Created" } else { "OK" } },
                )]),
                action,
                kind: kind.clone(),
            })
        };
        let path = [("name", named), ("namespace", row.is_namespaced())];
        Self {
            parameters: path
                .into_iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| Parameter::path(name))
                .collect(),
            patch: operation(Verb::Patch, "patch", "200", &[WRITE[0], WRITE[1], WRITE[2], "force"]),
            post: create.then(|| operation(Verb::Create, "post", "201", &WRITE)).flatten(),
            put: operation(Verb::Update, "put", "200", &WRITE),
        }
    }

    fn is_empty(&self) -> bool {
        self.patch.is_none() && self.post.is_none() && self.put.is_none()
    }
}

impl Parameter {
    fn query(name: &'static str) -> Self {
        let form = if name == "force" { "boolean" } else { "string" };
        Self { place: "query", name, required: false, schema: ParameterSchema { form, unique_items: true } }
    }

    fn path(name: &'static str) -> Self {
        let schema = ParameterSchema { form: "string", unique_items: true };
        Self { place: "path", name, required: true, schema }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::builtin;
    use serde_json::json;

    fn read(document: &Document) -> Value {
        serde_json::from_slice(&document.body).unwrap()
    }

    #[test]
    fn the_index_lists_every_group_version() {
        let index = read(&openapi_index(builtin()));
        let place = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
        let hash = openapi(builtin(), "apps", "v1").unwrap().etag;
        assert_eq!(place, format!("/openapi/v3/apis/apps/v1?hash={}", hash.trim_matches('"')));
        assert!(index["paths"]["api/v1"].is_object());
        assert!(openapi(builtin(), "apps", "v2").is_none());
    }

    #[test]
    fn a_patch_operation_names_its_kind_and_parameters() {
        let document = read(&openapi(builtin(), "apps", "v1").unwrap());
        let item = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
        let names: Vec<&Value> = item["patch"]["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|parameter| &parameter["name"])
            .collect();
        assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
        assert_eq!(item["patch"]["x-kubernetes-action"], "patch");
        let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
        assert_eq!(item["patch"]["x-kubernetes-group-version-kind"], kind);
        assert!(item["post"].is_null());
    }

    #[test]
    fn connections_are_not_writes() {
        let document = read(&openapi(builtin(), "", "v1").unwrap());
        let pod = "/api/v1/namespaces/{namespace}/pods/{name}";
        assert!(document["paths"][format!("{pod}/exec")].is_null());
        assert!(document["paths"][format!("{pod}/log")].is_null());
        assert!(document["paths"][format!("{pod}/eviction")]["post"].is_object());
    }
}
