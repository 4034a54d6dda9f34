//! Modify: read, change, compare and put, until no other write comes between (`write.W1`).

use std::sync::Arc;

use crate::http::WriteOptions;
use crate::size;
use crate::store::{Precondition, Stored, WriteError};
use serde_json::Value;
use watchkeeper_core::Status;

use super::create::place;
use super::draft::Draft;
use super::refusal::{MODIFIED, unavailable, unwritten};
use super::revise::{check_path, is_removed, parse_version, revise, wrong_uid};
use super::{Call, ResponseBody, WriteResponse, Writer, managed};
use crate::admission::Operation;
use crate::rules::finalizer_warnings;

/// Attempts before the client gets a conflict; each time another write has succeeded.
pub(super) const ATTEMPTS: usize = 100;

/// The result of a modification.
pub(super) struct Modified {
    pub(super) draft: Draft,
    /// `None` if it was not stored: on a dry run, or because it was removed.
    pub(super) stored: Option<Arc<Stored>>,
    pub(super) warnings: Vec<String>,
}

impl Modified {
    pub(super) fn written(self, call: &Call<'_>) -> WriteResponse {
        let body = match self.stored {
            Some(stored) => ResponseBody::Stored(stored),
            None => ResponseBody::Value(self.draft.typed(call.resource)),
        };
        WriteResponse { warnings: self.warnings, ..WriteResponse::new(200, body) }
    }
}

impl Writer {
    /// Replaces the object of the path by what `change` returns: 404 if it does not exist. With `revised_as`, the
    /// result is admitted, and completed and validated as that write; otherwise it is stored as it is.
    pub(super) async fn modify(
        &self,
        call: &Call<'_>,
        revised_as: Option<&Call<'_>>,
        dry_run: bool,
        change: &mut (dyn FnMut(&Draft) -> Result<Draft, Status> + Send),
    ) -> Result<Modified, Status> {
        let (collection, key) = (call.collection()?, call.key()?);
        let _addresses = self.lock_addresses(call).await;
        let mut current = self.store.get(&collection, &key).await.map_err(unavailable)?;
        for _ in 0..ATTEMPTS {
            let stored = current.ok_or_else(|| call.not_found())?;
            let old = Draft::shown(&stored, call.resource)?;
            let mut draft = change(&old)?;
            if let Some(write) = revised_as {
                self.admission
                    .mutate(call.admission(Operation::Update, Some(&old), Some(&mut draft), dry_run))
                    .await?;
                revise(write, &old, &mut draft, dry_run)?;
                self.admission
                    .validate(call.admission(Operation::Update, Some(&old), Some(&mut draft), dry_run))
                    .await?;
            }
            self.allocate(call, Some(&old), &mut draft).await?;
            managed::keep_times(&old, &mut draft);
            let warnings = finalizer_warnings(call.resource, Some(&old), &draft);
            let is_removed = is_removed(call, &draft);
            if !is_removed && draft == old {
                return Ok(Modified { draft, stored: Some(stored), warnings }); // write.W2
            }
            let value = draft.unversioned(call.resource)?;
            if dry_run {
                return Ok(Modified { draft, stored: None, warnings }); // write.W3
            }
            if !is_removed {
                size::check_stored(call.resource, &value)?;
            }
            let outcome = if is_removed {
                self.store.delete(&collection, &key, Some(stored.modified())).await.map(|_| None)
            } else {
                self.store.put(&collection, value, Precondition::At(stored.modified())).await.map(Some)
            };
            match outcome {
                Ok(stored) => return Ok(Modified { draft, stored, warnings }),
                Err(WriteError::Conflict { current: found }) => current = found,
                Err(error) => return Err(unwritten(&error)),
            }
        }
        Err(call.conflict(MODIFIED))
    }

    pub(super) async fn update_object(
        &self,
        call: &Call<'_>,
        body: Value,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        call.required_name()?;
        let managers = managed::sent(call, &body);
        let mut sent = Draft::read(body.clone(), call.resource)?;
        place(&mut sent, call)?;
        check_path(call, &sent)?;
        let mut replace = |old: &Draft| {
            let mut new = sent.clone();
            managed::track(call, old, &mut new, managers.as_ref(), &options.field_manager);
            Ok(new)
        };
        let outcome = self.modify(call, Some(call), options.dry_run, &mut replace).await;
        let creates = call.subresource.is_none() && call.resource.rules().allow_create_on_update();
        match outcome {
            Err(status) if status.is_not_found() && creates => match sent.text("uid") {
                "" => self.create_by_update(call, &sent, body, None, options).await,
                uid => Err(wrong_uid(call, uid, "", options.dry_run)),
            },
            outcome => Ok(outcome?.written(call)),
        }
    }

    /// Creates the object that an update or an apply did not find.
    pub(super) async fn create_by_update(
        &self,
        call: &Call<'_>,
        sent: &Draft,
        body: Value,
        managed_fields: Option<Value>,
        options: &WriteOptions,
    ) -> Result<WriteResponse, Status> {
        let version = sent.text("resourceVersion");
        if !version.is_empty() {
            parse_version(version)?;
        }
        let mut written = self.create_object(call, without_version(body), managed_fields, options).await?;
        // A dry run does not overwrite the version that was sent.
        if let ResponseBody::Value(object) = &mut written.body
            && !version.is_empty()
        {
            object["metadata"]["resourceVersion"] = version.into();
        }
        Ok(written)
    }
}

/// Removes the resource version.
fn without_version(mut body: Value) -> Value {
    if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
        metadata.remove("resourceVersion");
    }
    body
}
