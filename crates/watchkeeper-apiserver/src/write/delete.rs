//! Delete: removes an object, or marks it as being deleted while something holds it.

use std::sync::Arc;

use crate::http::{DeleteOptions, Propagation, method_not_allowed};
use crate::registry::{Resource, Verb};
use crate::store::{Precondition, Revision, Stored, WriteError};
use serde_json::Value;
use watchkeeper_core::{GroupKind, GroupResource, Outcome, Status, StatusDetails, Timestamp};

use super::draft::Draft;
use super::modify::ATTEMPTS;
use super::refusal::{MODIFIED, unavailable, unwritten};
use super::{Call, ResponseBody, WriteResponse, Writer};
use crate::admission::Operation;
use crate::clock::now;

/// The finalizer of foreground deletion.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that orphans dependents.
const ORPHAN: &str = "orphan";

/// The effect of a deletion.
enum Step {
    /// Remove the object.
    Remove,
    /// Write the final state, then remove the object: kinds with a grace period are always seen to end.
    End(Box<Draft>),
    /// Mark the object as being deleted.
    Hold(Box<Draft>),
}

impl Writer {
    /// Admits and deletes an object.
    pub(super) async fn delete_object(
        &self,
        call: &Call<'_>,
        options: &DeleteOptions,
    ) -> Result<WriteResponse, Status> {
        self.admission.mutate(call.admission(Operation::Delete, None, None, options.dry_run)).await?;
        self.remove_object(call, options, true).await
    }

    /// Deletes an object. `is_admitted` says whether the admission chain validates the deletion: an eviction is admitted
    /// as an eviction.
    pub(super) async fn remove_object(
        &self,
        call: &Call<'_>,
        options: &DeleteOptions,
        is_admitted: bool,
    ) -> Result<WriteResponse, Status> {
        let (collection, key) = (call.collection()?, call.key()?);
        let mut current = self.store.get(&collection, &key).await.map_err(unavailable)?;
        for _ in 0..ATTEMPTS {
            let stored = current.ok_or_else(|| call.not_found())?;
            let old = Draft::shown(&stored, call.resource)?;
            check_preconditions(call, &old, options)?;
            if is_admitted {
                self.admission
                    .validate(call.admission(Operation::Delete, Some(&old), None, options.dry_run))
                    .await?;
            }
            let step = match decide(call, &old, options) {
                Step::Hold(new) if *new == old => return Ok(held(ResponseBody::Stored(stored), options)),
                step if options.dry_run => return Ok(step.response(call, stored, options)),
                step => step,
            };
            match self.take_step(call, step, stored.modified(), options).await? {
                Ok(mut written) => {
                    if options.propagation.is_none() && options.orphan_dependents.is_none() {
                        let warning = call.resource.rules().propagation_warning();
                        written.warnings.extend(warning.map(str::to_owned));
                    }
                    return Ok(written);
                }
                Err(WriteError::Conflict { current: found }) => current = found,
                Err(error) => return Err(unwritten(&error)),
            }
        }
        Err(call.conflict(MODIFIED))
    }

    /// Takes a step that was decided on the object at a revision. The inner error is that of the store: after a conflict
    /// the step has to be decided again.
    async fn take_step(
        &self,
        call: &Call<'_>,
        step: Step,
        at: Revision,
        options: &DeleteOptions,
    ) -> Result<Result<WriteResponse, WriteError>, Status> {
        let (collection, key) = (call.collection()?, call.key()?);
        let written = match &step {
            Step::Remove => None,
            Step::End(new) | Step::Hold(new) => Some(new.unversioned(call.resource)?),
        };
        let mut at = at;
        if let Some(value) = written {
            match self.store.put(&collection, value, Precondition::At(at)).await {
                Ok(stored) if matches!(step, Step::Hold(_)) => {
                    return Ok(Ok(held(ResponseBody::Stored(stored), options)));
                }
                Ok(ending) => at = ending.modified(),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(self.store.delete(&collection, &key, Some(at)).await.map(|last| gone(call, last)))
    }

    /// Deletes the found objects of a collection.
    pub(super) async fn delete_objects(
        &self,
        call: &Call<'_>,
        found: &[Arc<Stored>],
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        if !call.resource.verbs.contains(Verb::DeleteCollection) {
            return Err(method_not_allowed());
        }
        for stored in found {
            let key = stored.key();
            let one = Call { namespace: key.namespace(), name: Some(key.name()), ..*call };
            match self.delete_object(&one, options).await {
                Err(status) if status.is_not_found() => {} // deleted concurrently
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }
}

impl Step {
    /// Returns the response of a dry run.
    fn response(self, call: &Call<'_>, stored: Arc<Stored>, options: &DeleteOptions) -> WriteResponse {
        match self {
            Self::Remove => gone(call, stored),
            Self::End(new) => WriteResponse::new(200, ResponseBody::Value(new.typed(call.resource))),
            Self::Hold(new) => held(ResponseBody::Value(new.typed(call.resource)), options),
        }
    }
}

fn held(body: ResponseBody, options: &DeleteOptions) -> WriteResponse {
    // 202 only for the deprecated `orphanDependents: false`.
    let code = if options.orphan_dependents == Some(false) { 202 } else { 200 };
    WriteResponse::new(code, body)
}

fn gone(call: &Call<'_>, last: Arc<Stored>) -> WriteResponse {
    if call.resource.rules().return_deleted_object() {
        return WriteResponse::new(200, ResponseBody::Stored(last));
    }
    let resource = call.resource.group_resource();
    let details = StatusDetails {
        name: last.key().name().to_owned(),
        group: resource.group,
        kind: resource.resource,
        uid: last.object().metadata.uid().to_owned(),
        ..Default::default()
    };
    let details = Some(Box::new(details));
    WriteResponse::new(
        200,
        ResponseBody::Status(Status { outcome: Some(Outcome::Success), details, ..Default::default() }),
    )
}

pub(super) fn check_preconditions(
    call: &Call<'_>,
    old: &Draft,
    options: &DeleteOptions,
) -> Result<(), Status> {
    // kube-apiserver has the kind in place of the resource here.
    let GroupKind { group, kind: resource } = call.resource.group_kind();
    let conflict = |why: std::fmt::Arguments<'_>| {
        Status::conflict(&GroupResource { group, resource }, call.name.unwrap_or_default(), why)
    };
    let (uid, version) = (old.text("uid"), old.text("resourceVersion"));
    if let Some(expected) = options.uid.as_deref().filter(|expected| *expected != uid) {
        return Err(conflict(format_args!(
            "the UID in the precondition ({expected}) does not match the UID in record ({uid}). \
             The object might have been deleted and then recreated"
        )));
    }
    if let Some(expected) = options.resource_version.as_deref().filter(|expected| *expected != version) {
        return Err(conflict(format_args!(
            "the ResourceVersion in the precondition ({expected}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

fn decide(call: &Call<'_>, old: &Draft, options: &DeleteOptions) -> Step {
    let (rules, mut new) = (call.resource.rules(), old.clone());
    if rules.terminate(old, &mut new) {
        let is_held = !new.finalizers().is_empty() || !rules.is_finished(&new);
        return if is_held { Step::Hold(Box::new(new)) } else { Step::Remove };
    }
    set_finalizers(call.resource, &mut new, options);
    let grace = rules.grace_seconds(old, options.grace_period_seconds);
    let is_graceful = grace.is_some();
    let before = old.meta("deletionGracePeriodSeconds").and_then(Value::as_i64);
    if !old.is_being_deleted() {
        let seconds = grace.unwrap_or_default();
        let is_held = seconds != 0 || !new.finalizers().is_empty();
        if !is_held && !is_graceful {
            return Step::Remove;
        }
        mark(&mut new, now(), seconds);
        if old.generation() > 0 {
            new.set_meta("generation", Some(old.generation().saturating_add(1).into()));
        }
        return if is_held { Step::Hold(Box::new(new)) } else { Step::End(Box::new(new)) };
    }
    let seconds = match (is_graceful, before, options.grace_period_seconds) {
        (true, Some(before), Some(asked)) if asked < before => {
            let asked = asked.max(0); // a grace period can only be shortened
            let end = old.text("deletionTimestamp").parse::<Timestamp>().unwrap_or_else(|_| now());
            let begun = Timestamp { seconds: end.seconds.saturating_sub(before), nanos: 0 };
            mark(&mut new, begun, asked);
            asked
        }
        (true, Some(before), _) => before.max(1), // already terminating
        _ => 0,
    };
    if seconds != 0 || !new.finalizers().is_empty() {
        Step::Hold(Box::new(new))
    } else if before.is_some_and(|before| before > 0) {
        Step::End(Box::new(new))
    } else {
        Step::Remove
    }
}

/// Sets the deletion timestamp and the grace period.
fn mark(draft: &mut Draft, from: Timestamp, seconds: i64) {
    let end = Timestamp { seconds: from.seconds.saturating_add(seconds), ..from };
    draft.set_meta("deletionTimestamp", Some(end.to_string().into()));
    draft.set_meta("deletionGracePeriodSeconds", Some(seconds.into()));
}

/// Adds or removes the finalizers of the propagation policy.
fn set_finalizers(resource: &Resource, draft: &mut Draft, options: &DeleteOptions) {
    let has = |name| draft.finalizers().contains(&name);
    let asked = options.propagation.or(options
        .orphan_dependents
        .map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }));
    let (orphan, foreground) = match asked {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        None if has(ORPHAN) => (true, false),
        None if has(FOREGROUND) => (false, true),
        None => (resource.rules().orphans_dependents(), false),
    };
    let mut finalizers: Vec<String> = draft.finalizers().into_iter().map(str::to_owned).collect();
    for (name, is_wanted) in [(ORPHAN, orphan), (FOREGROUND, foreground)] {
        if !is_wanted {
            finalizers.retain(|it| it != name);
        } else if finalizers.iter().all(|it| it != name) {
            finalizers.push(name.to_owned());
        }
    }
    draft.set_meta("finalizers", (!finalizers.is_empty()).then(|| finalizers.into()));
}
