//! Requests for resources, dispatched by registry row and verb.

use std::sync::Arc;

use crate::custom::CustomKind;
use crate::http::{
    Accepted, AtVersion, DeleteOptions, GetOptions, ListOptions, MediaType, Offer, PatchType, Request,
    ResourceRequest, Response, User, Verb, WriteOptions, decode_delete_options, decode_patch, hold,
    method_not_allowed, no_such_resource, read_object, sent_object, sent_patch,
};
use crate::registry::{self, Resource, Subresource};
use crate::write::{Call, name_warning, scale_of};
use crate::{print, store};
use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;
use watchkeeper_core::Status;
use watchkeeper_wire::Kind;

use super::Api;
use super::heavy::{INLINE_BYTES, is_heavy_object, is_heavy_patch};
use crate::read::{Encoder, Page, Scope, View, core_event, core_json_patch, watch_body};
use watchkeeper_listen::Budget;

/// The patch types of custom resources.
const CUSTOM_PATCHES: [PatchType; 3] = [PatchType::Json, PatchType::Merge, PatchType::Apply];

/// A request whose resource has been found in the registry.
#[derive(Debug, Clone)]
pub(super) struct ResolvedRequest {
    pub(super) row: Arc<Resource>,
    /// The row under which the writer knows the objects, if different.
    owner: Option<Arc<Resource>>,
    pub(super) sub: Option<Subresource>,
    pub(super) scope: Scope,
}

impl ResolvedRequest {
    /// Returns the call for the writer, which knows events only by the core group.
    pub(super) fn call<'a>(&'a self, user: &'a User) -> Call<'a> {
        Call {
            user,
            resource: self.owner.as_ref().unwrap_or(&self.row),
            subresource: self.sub.as_ref().map(|sub| &*sub.name),
            namespace: self.scope.namespace.as_deref(),
            name: self.scope.name.as_deref(),
        }
    }

    /// Returns the kind of the request and response bodies.
    pub(super) fn kind(&self) -> Kind {
        match &self.sub {
            Some(sub) => sub.group_version_kind(&self.row).into(),
            None => self.row.group_version_kind().into(),
        }
    }

    /// Returns whether objects of the resource are not stored, so that they have no paths.
    fn is_nameless(&self) -> bool {
        self.sub.is_none() && self.row.storage.is_none()
    }

    /// Returns the custom kind of the request bodies, if they are of that kind.
    fn custom(&self) -> Option<&CustomKind> {
        self.row.custom.as_deref().filter(|_| self.sub.as_ref().is_none_or(|sub| sub.kind == self.row.kind))
    }

    /// Returns whether the request is for custom resource definitions.
    fn defines(&self) -> bool {
        self.row.rules().defines_resources()
    }

    pub(super) fn encoder(
        &self,
        api: &Api,
        request: &Request,
        accepted: Accepted,
    ) -> Result<Encoder, Status> {
        let encoder = Encoder::new(&api.registry.now(), &self.row, accepted, include(request)?);
        Ok(match &self.sub {
            Some(sub) => encoder.below(sub),
            None => encoder,
        })
    }

    pub(super) fn offer(&self, collection: bool) -> Offer {
        let protobuf = self.kind().message().is_some() && self.row.custom.is_none();
        let base = match (&self.row.custom, collection) {
            (Some(_), _) => Offer::CUSTOM,
            (None, true) => Offer::COLLECTION,
            (None, false) => Offer::OBJECT,
        };
        // Reviews, bindings, evictions and tokens have no table.
        let table = match &self.sub {
            None => !self.is_nameless() || self.is_components(),
            Some(sub) => !matches!(&*sub.name, "binding" | "eviction" | "token"),
        };
        Offer { protobuf, table, ..base }
    }
}

impl Api {
    pub(super) async fn resource(
        &self,
        target: &ResourceRequest,
        request: Request,
    ) -> Result<Response, Status> {
        let Some(resolved) = self.find(target)? else {
            return if self.registry.now().has_built_in(&target.group) {
                Err(no_such_resource())
            } else {
                Ok(Response::page_not_found())
            };
        };
        let has_kubelet = resolved.row.rules().connects_to_kubelet();
        match (target.verb, &*target.subresource) {
            (Verb::Connect, "attach" | "exec" | "portforward") if has_kubelet => {
                return self.connect(&resolved, request).await;
            }
            (Verb::Get, "log") if has_kubelet => return self.log(&resolved, &request.query).await,
            _ => {}
        }
        let verbs = resolved.sub.as_ref().map_or(resolved.row.verbs, |sub| sub.verbs);
        if resolved.is_components() {
            target.check()?;
            return match target.verb {
                Verb::Get => self.component(&resolved, request).await,
                Verb::List => self.components(&resolved, request).await,
                Verb::Watch => Err(Status::method_not_supported(&resolved.row.group_resource(), "watch")),
                _ => Err(method_not_allowed()),
            };
        }
        if resolved.is_nameless() && resolved.scope.name.is_some() {
            return Err(no_such_resource());
        }
        if !served(target.verb).is_some_and(|verb| verbs.contains(verb)) {
            return Err(method_not_allowed());
        }
        target.check()?;
        let response = self.serve_verb(&resolved, target, request).await?;
        if resolved.defines()
            && target.verb.writes()
            && let Some(definitions) = &self.definitions
        {
            definitions.settle().await?;
        }
        Ok(response)
    }

    async fn serve_verb(
        &self,
        resolved: &ResolvedRequest,
        target: &ResourceRequest,
        request: Request,
    ) -> Result<Response, Status> {
        match target.verb {
            Verb::Get => self.get(resolved, request).await,
            Verb::List => self.list(resolved, request).await,
            Verb::Watch => self.watch(resolved, request, target.watch_path).await,
            Verb::Create | Verb::Update => self.put(resolved, request, target.verb).await,
            Verb::Patch => self.patch(resolved, request).await,
            Verb::Delete | Verb::DeleteCollection => self.delete(resolved, request, target.verb).await,
            Verb::Connect => Err(method_not_allowed()),
        }
    }

    /// Finds the resource and the scope of a request; returns `None` if the path does not exist.
    fn find(&self, target: &ResourceRequest) -> Result<Option<ResolvedRequest>, Status> {
        let registry = self.registry.now();
        let Some(row) = registry.get(&target.group, &target.version, &target.resource) else {
            return Ok(None);
        };
        let sub = match target.subresource.as_str() {
            "" => None,
            name => match row.subresource(name) {
                Some(sub) => Some(sub.clone()),
                None if row.custom.is_some() => {
                    return Err(Status::not_found(&row.group_resource(), &target.name));
                }
                None => return Ok(None),
            },
        };
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        // The path of a namespace has its name in both places.
        let namespace = text(&target.namespace).filter(|_| !row.rules().is_namespace());
        let all = namespace.is_none() && row.is_namespaced();
        match target.verb {
            Verb::List | Verb::Watch if all => {}
            _ if all && target.name.is_empty() => return Err(method_not_allowed()), // read-only across namespaces
            _ if namespace.is_some() != row.is_namespaced() => return Ok(None),
            _ => {}
        }
        let view = View::of(&registry, row);
        let owner = match view {
            View::NewEvent => registry.iter().find(|other| other.storage == row.storage).cloned(),
            _ => None,
        };
        let scope = Scope { resource: row.clone(), namespace, name: text(&target.name), view };
        Ok(Some(ResolvedRequest { row: row.clone(), owner, sub, scope }))
    }

    async fn get(&self, resolved: &ResolvedRequest, request: Request) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(false))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let stored = self.reader.get(&resolved.scope, &GetOptions::read(&request.query)?).await?;
        match &resolved.sub {
            None => encoder.object(StatusCode::OK, &stored),
            Some(sub) if sub.kind == "Scale" => {
                let scale = scale_of(&resolved.row, &resolved.scope.view.value(&stored)?)?;
                encoder.value(StatusCode::OK, scale, &resolved.kind())
            }
            Some(sub) if sub.kind == resolved.row.kind => encoder.object(StatusCode::OK, &stored),
            Some(_) => Err(no_such_resource()),
        }
    }

    async fn list(&self, resolved: &ResolvedRequest, request: Request) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(true))?;
        let encoder = resolved.encoder(self, &request, accepted)?.sharing(&self.messages);
        let page = self.reader.list(&resolved.scope, &ListOptions::read(&request.query)?).await?;
        self.page(encoder, page, &request.budget).await
    }

    /// Returns a list that is encoded while the client reads it.
    async fn page(&self, encoder: Encoder, page: Page, budget: &Budget) -> Result<Response, Status> {
        let charge = hold(budget, page.held_bytes()).await?;
        let is_heavy = encoder.measures(&page);
        self.heavy.run(is_heavy, async move { encoder.page(StatusCode::OK, page, charge) }).await
    }

    async fn watch(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
        by_path: bool,
    ) -> Result<Response, Status> {
        let mut options = ListOptions::read(&request.query)?;
        if by_path && !options.watch {
            options.watch = true;
            let from_version = matches!(options.resource_version, AtVersion::At(_));
            options.send_initial_events = options.send_initial_events.or((!from_version).then_some(true));
        }
        let accepted = request.preferences.watch(&resolved.offer(true))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let watcher = self.reader.watch(&resolved.scope, &options).await?;
        let charge = hold(&request.budget, watcher.held_bytes()).await?;
        let compressed = options.is_watch_list() && request.preferences.gzip;
        Ok(Response::watch(accepted.media, compressed, watch_body(watcher, encoder, charge)))
    }

    async fn put(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
        verb: Verb,
    ) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(false))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let options = match verb {
            Verb::Create => WriteOptions::of_create(&request.query)?,
            _ => WriteOptions::of_update(&request.query)?.by_agent(&request.headers),
        };
        let media = sent_object(&request.headers)?;
        if media == MediaType::PROTOBUF && resolved.custom().is_some() {
            return Err(unsupported_protobuf());
        }
        let (user, preferences) = (request.user, request.preferences);
        let body = request.body.read().await?;
        let is_heavy = is_heavy_object(media, body.len());
        let (resolved, writer) = (resolved.clone(), self.writer.clone());
        let work = async move {
            let kind = resolved.kind();
            let sent = read_object(&body, media, kind.name())?.pruned_by(resolved.custom());
            drop(body);
            let decoded = sent.judge(options.field_validation)?;
            let mut value = decoded.value;
            if resolved.scope.view == View::NewEvent {
                value = core_event(value);
                value["apiVersion"] = "v1".into();
            }
            let call = resolved.call(&user);
            let written = match verb {
                Verb::Create => {
                    let warning =
                        name_warning(call.resource, value["metadata"]["name"].as_str().unwrap_or_default());
                    match writer.create(&call, value, &options).await {
                        // kube-apiserver warns about a name before it checks whether it is taken.
                        Err(status) if status.is_already_exists() => {
                            let warnings: Vec<String> = decoded.warnings.into_iter().chain(warning).collect();
                            return Ok(Response::status(&status, &preferences).with_warnings(&warnings));
                        }
                        outcome => outcome?,
                    }
                }
                _ => writer.update(&call, value, &options).await?,
            };
            resolved.response(&encoder, &preferences, written, &decoded.warnings)
        };
        self.heavy.run(is_heavy, work).await
    }

    async fn patch(&self, resolved: &ResolvedRequest, request: Request) -> Result<Response, Status> {
        let accepted = request.preferences.object(&resolved.offer(false))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let form = match resolved.row.custom {
            None => sent_patch(&request.headers, &PatchType::ALL)?,
            Some(_) => sent_patch(&request.headers, &CUSTOM_PATCHES)
                .map_err(|_| Status::unsupported_media_type(&CUSTOM_PATCHES.map(PatchType::as_str)))?,
        };
        let options = WriteOptions::of_patch(&request.query, form)?.by_agent(&request.headers);
        let (user, preferences) = (request.user, request.preferences);
        let mut body = request.body.read().await?;
        let is_heavy = is_heavy_patch(form, body.len())
            || self.writer.stored_bytes(&resolved.call(&user)).await? > INLINE_BYTES;
        let (resolved, writer) = (resolved.clone(), self.writer.clone());
        let work = async move {
            if resolved.scope.view == View::NewEvent {
                body = core_patch(body, form);
            }
            let written = writer.patch(&resolved.call(&user), form, body, &options).await?;
            resolved.response(&encoder, &preferences, written, &[])
        };
        self.heavy.run(is_heavy, work).await
    }

    async fn delete(
        &self,
        resolved: &ResolvedRequest,
        request: Request,
        verb: Verb,
    ) -> Result<Response, Status> {
        let collection = verb == Verb::DeleteCollection;
        let accepted = request.preferences.object(&resolved.offer(collection))?;
        let encoder = resolved.encoder(self, &request, accepted)?;
        let list = if collection { Some(ListOptions::read(&request.query)?) } else { None };
        let media = sent_object(&request.headers);
        let (query, user, preferences, budget) =
            (request.query, request.user, request.preferences, request.budget);
        let body = request.body.read().await?;
        let options = if body.is_empty() {
            DeleteOptions::of_query(&query)?
        } else {
            let media = media?;
            let is_heavy = is_heavy_object(media, body.len());
            let work = async move { DeleteOptions::of_body(decode_delete_options(&body, media)?) };
            self.heavy.run(is_heavy, work).await?
        };
        let call = resolved.call(&user);
        if let Some(list) = list {
            let page = self.reader.list(&resolved.scope, &list).await?;
            self.writer.delete_collection(&call, &page.items, &options).await?;
            return self.page(encoder, page, &budget).await;
        }
        let written = self.writer.delete(&call, &options).await?;
        resolved.response(&encoder, &preferences, written, &[])
    }

    pub(super) async fn revision(&self) -> Result<store::Revision, Status> {
        self.reader.store().current().await.map_err(Status::internal_error)
    }
}

/// 415: custom kinds have no protobuf messages.
fn unsupported_protobuf() -> Status {
    Status::unsupported_media_type(&[MediaType::JSON, MediaType::Yaml].map(MediaType::as_str))
}

/// Converts to the registry's verb; connections have no verb there.
fn served(verb: Verb) -> Option<registry::Verb> {
    Some(match verb {
        Verb::Get => registry::Verb::Get,
        Verb::List => registry::Verb::List,
        Verb::Watch => registry::Verb::Watch,
        Verb::Create => registry::Verb::Create,
        Verb::Update => registry::Verb::Update,
        Verb::Patch => registry::Verb::Patch,
        Verb::Delete => registry::Verb::Delete,
        Verb::DeleteCollection => registry::Verb::DeleteCollection,
        Verb::Connect => return None,
    })
}

fn include(request: &Request) -> Result<print::IncludeObject, Status> {
    let parsed = request.query.text("includeObject").parse();
    parsed.map_err(|error: print::IncludeObjectError| Status::bad_request(error.to_string()))
}

/// Translates a patch of a new event into the names of the core group; invalid JSON is left for the writer to refuse.
fn core_patch(body: Bytes, form: PatchType) -> Bytes {
    let read = match form {
        PatchType::Apply => decode_patch(&body, form).ok().map(|patch| patch.value),
        _ => serde_json::from_slice::<Value>(&body).ok(),
    };
    let Some(patch) = read else { return body };
    if form == PatchType::Json {
        let renamed = core_json_patch(patch.clone());
        // Written anew only if it differs: strict validation finds duplicate fields in the original bytes.
        return if renamed == patch { body } else { renamed.to_string().into() };
    }
    let mut patch = core_event(patch);
    if patch["apiVersion"] == "events.k8s.io/v1" {
        patch["apiVersion"] = "v1".into();
    }
    patch.to_string().into()
}
