//! Create: stores new objects.

use std::time::Duration;

use crate::clock::now;
use crate::http::{WriteOptions, random_uid};
use crate::registry::Resource;
use crate::size;
use crate::store::{Precondition, Stored, WriteError};
use crate::validate;
use serde_json::Value;
use watchkeeper_core::Status;

use super::draft::{Draft, empty_status};
use super::refusal::{check, no_randomness, unavailable, unexplained, unwritten};
use super::{Call, ResponseBody, WriteResponse, Writer, name};
use crate::admission::Operation;
use crate::rules::finalizer_warnings;

/// Attempts to generate a free name before the client has to retry.
const NAMES_TRIED: usize = 8;

impl Writer {
    /// Creates an object. Only applied objects have `managed_fields` (`write.W5`).
    pub(super) async fn create_object(
        &self,
        call: &Call<'_>,
        body: Value,
        managed_fields: Option<Value>,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let is_labelled = body["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty());
        let mut draft = Draft::read(body, call.resource)?;
        draft.set_meta("managedFields", managed_fields);
        place(&mut draft, call)?;
        if call.resource.rules().generates_name() && draft.text("name").is_empty() {
            draft.set_meta("name", Some(random_uid().map_err(no_randomness)?.into()));
        }
        let prefix = draft.text("generateName").to_owned();
        let is_generated = draft.text("name").is_empty() && !prefix.is_empty();
        check_serving(call, if is_generated { &prefix } else { draft.text("name") })?;
        self.admission
            .mutate(call.admission(Operation::Create, None, Some(&mut draft), options.dry_run))
            .await?;
        let _addresses = self.lock_addresses(call).await;
        let mut taken = String::new();
        for _ in 0..NAMES_TRIED {
            let mut draft = draft.clone();
            if is_generated {
                taken = name::generate(&prefix)?;
                draft.set_meta("name", Some(taken.as_str().into()));
            }
            complete(&mut draft, call.resource, options.dry_run)?;
            if !is_labelled {
                call.resource.rules().set_default_labels(&mut draft);
            }
            self.admission
                .validate(call.admission(Operation::Create, None, Some(&mut draft), options.dry_run))
                .await?;
            self.allocate(call, None, &mut draft).await?;
            match self.create_draft(call, &draft, options.dry_run).await {
                Err(status) if is_generated && status.is_already_exists() => {}
                Ok(mut written) => {
                    written.warnings.extend(name::name_warning(call.resource, draft.text("name")));
                    written.warnings.extend(finalizer_warnings(call.resource, None, &draft));
                    return Ok(written);
                }
                Err(status) => return Err(status),
            }
        }
        Err(Status::generate_name_conflict(&call.resource.group_resource(), &taken, Duration::from_secs(1)))
    }

    /// Stores a new object: 409 if its name is taken.
    async fn create_draft(
        &self,
        call: &Call<'_>,
        draft: &Draft,
        dry_run: bool,
    ) -> Result<WriteResponse, Status> {
        let collection = call.collection()?;
        let value = draft.unversioned(call.resource)?;
        let taken = |by: Option<&Stored>| {
            let mut status = Status::already_exists(&call.resource.group_resource(), draft.text("name"));
            if by.is_some_and(|by| by.object().metadata.deletion_timestamp().is_some()) {
                status.message = format!("object is being deleted: {}", status.message);
            }
            status
        };
        if dry_run {
            return match self.store.get(&collection, value.key()).await.map_err(unavailable)? {
                Some(by) => Err(taken(Some(&by))),
                None => Ok(WriteResponse::new(201, ResponseBody::Value(draft.typed(call.resource)))),
            };
        }
        size::check_stored(call.resource, &value)?;
        match self.store.put(&collection, value, Precondition::Absent).await {
            Ok(stored) => Ok(WriteResponse::new(201, ResponseBody::Stored(stored))),
            Err(WriteError::Conflict { current }) => Err(taken(current.as_deref())),
            Err(error) => Err(unwritten(&error)),
        }
    }
}

/// Sets the namespace of an object to that of the path: 400 if it has another.
pub(super) fn place(draft: &mut Draft, call: &Call<'_>) -> Result<(), Status> {
    let namespace = namespace_for(draft.text("namespace"), call)?;
    draft.set_meta("namespace", namespace.map(Into::into));
    Ok(())
}

/// Returns the namespace of the path if the kind is namespaced; 400 if the object has another.
pub(super) fn namespace_for<'a>(in_object: &str, call: &Call<'a>) -> Result<Option<&'a str>, Status> {
    let namespace = call.namespace.filter(|_| call.resource.is_namespaced()).unwrap_or_default();
    if call.resource.is_namespaced() && namespace.is_empty() {
        return Err(Status::bad_request("an empty namespace may not be set during creation"));
    }
    if !in_object.is_empty() && !namespace.is_empty() && in_object != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(message));
    }
    Ok(Some(namespace).filter(|namespace| !namespace.is_empty()))
}

/// Sets what the server sets in a new object, and validates it.
fn complete(draft: &mut Draft, resource: &Resource, dry_run: bool) -> Result<(), Status> {
    draft.set_meta("uid", Some(random_uid().map_err(no_randomness)?.into()));
    draft.set_meta("creationTimestamp", Some(now().to_string().into()));
    draft.set_meta("deletionTimestamp", None);
    draft.set_meta("deletionGracePeriodSeconds", None);
    if resource.counts_generation {
        draft.set_meta("generation", Some(1.into()));
    }
    let rules = resource.rules();
    if resource.has_status() && !rules.keeps_initial_status() {
        let empty = || draft.part("status").and_then(|_| empty_status(resource));
        let status = rules.initial_status().or_else(empty);
        draft.set_part("status", status);
    }
    rules.prepare_for_create(resource, draft);
    check(resource, draft.text("name"), validate::new_object(resource, draft.fields()))?;
    // kube-apiserver checks the version in its storage, which a dry run does not reach.
    if dry_run {
        return Ok(());
    }
    // As in kube-apiserver, anything but a number is ignored.
    if draft.text("resourceVersion").parse::<u64>().is_ok_and(|version| version != 0) {
        return Err(unexplained("resourceVersion should not be set on objects to be created"));
    }
    draft.set_meta("resourceVersion", None);
    Ok(())
}

/// 403 if the definition of the kind is being deleted.
fn check_serving(call: &Call<'_>, name: &str) -> Result<(), Status> {
    let why = "create not allowed while custom resource definition is terminating";
    match &call.resource.custom {
        Some(custom) if custom.is_terminating() => {
            Err(Status::forbidden(Some(&call.resource.group_resource()), name, why))
        }
        _ => Ok(()),
    }
}
