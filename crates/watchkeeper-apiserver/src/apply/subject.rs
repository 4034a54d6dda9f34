//! Subject: how writes to an object change the owners of its fields.
//!
//! Invariants:
//! - `apply.A1`: an applier owns exactly what it applies.
//! - `apply.A2`: a field that an applier gives up is removed, unless another manager owns it.
//! - `apply.A3`: changing a value takes it from all other owners; an apply may do so only by force.
//! - `apply.A4`: an object without managers is not tracked until it is applied.

use std::sync::Arc;

use serde_json::{Map, Value};
use watchkeeper_core::{GroupVersionKind, Timestamp};

use super::conflict::Conflicts;
use super::defined::DefinedTypes;
use super::field_set::FieldSet;
use super::last_applied;
use super::managers::{Manager, Managers, Operation, Owned};
use super::reset::Reset;
use super::typed::{Comparison, Misfits, check, compare, fields_of, merge, remove, same};
use super::types::Type;
use crate::rules::autoscalers::{show_autoscaler, store_autoscaler};

/// The manager of the fields that existed before the first apply.
const BEFORE: &str = "before-first-apply";

/// The objects of a kind, as written at one endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    kind: GroupVersionKind,
    api_version: String,
    subresource: String,
    reset: Reset,
    /// The types of a custom kind.
    types: Option<Arc<DefinedTypes>>,
}

/// The manager and time of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing<'a> {
    /// The name of the manager.
    pub(crate) manager: &'a str,
    pub(crate) now: Timestamp,
}

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Applied {
    pub(crate) object: Value,
    pub(crate) managers: Managers,
}

/// Why a configuration cannot be applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ApplyError {
    /// It does not match the type of its kind.
    #[error("{0}")]
    Misfits(Misfits),
    /// Other managers own what it changes.
    #[error("some fields are owned by other managers")]
    Conflicts(Conflicts),
}

impl Subject {
    /// Creates the subject for a kind, written at a subresource or as a whole.
    pub(crate) fn new(kind: GroupVersionKind, subresource: Option<&str>, reset: Reset) -> Self {
        let api_version = kind.group_version().to_string();
        Self {
            kind,
            api_version,
            subresource: subresource.unwrap_or_default().to_owned(),
            reset,
            types: None,
        }
    }

    /// Sets the types of a custom kind.
    pub(crate) fn defined_by(self, types: Option<Arc<DefinedTypes>>) -> Self {
        Self { types, ..self }
    }

    /// Returns the managers after a write other than apply. Without managers there are none afterwards (`apply.A4`).
    pub(crate) fn update(
        &self,
        before: &Value,
        after: &Value,
        managers: Managers,
        by: Writing<'_>,
    ) -> Managers {
        if managers.is_empty() { managers } else { self.tracked_update(before, after, managers, by) }
    }

    fn tracked_update(&self, before: &Value, after: &Value, managers: Managers, by: Writing<'_>) -> Managers {
        let mut managers = managers;
        let compared = self.give_up(before, after, &mut managers, None);
        let changed = self.reset.filter(&compared.modified.union(&compared.added));
        let changed = changed.difference(&never_owned());
        if !changed.is_empty() {
            let manager = Manager::new(by.manager, Operation::Update, &self.api_version, &self.subresource);
            let known = managers.get(&manager).map(|owned| owned.fields.clone()).unwrap_or_default();
            let fields = changed.union(&known);
            managers.set(&manager, Owned { fields, api_version: self.api_version.clone() });
            managers.times.insert(manager, by.now);
        }
        managers.cap();
        managers
    }

    /// Applies a configuration to the live object. `empty` is an object of the kind without any fields set.
    pub(crate) fn apply(
        &self,
        live: &Value,
        empty: &Value,
        configuration: &Value,
        managers: Managers,
        force: bool,
        by: Writing<'_>,
    ) -> Result<Applied, ApplyError> {
        check(configuration, self.own_type()).map_err(ApplyError::Misfits)?;
        let mut managers = managers;
        if managers.is_empty() {
            let before = Writing { manager: BEFORE, ..by };
            managers = self.tracked_update(empty, live, managers, before);
        }
        let outcome = self.merge_configuration(live, configuration, managers.clone(), force, by);
        let conflicts = match outcome {
            Err(conflicts) if by.manager == last_applied::MANAGER => conflicts,
            outcome => return outcome.map_err(ApplyError::Conflicts),
        };
        // It keeps what it applied client-side.
        let own = last_applied::unchanged_fields(live, &self.api_version, self.own_type());
        match conflicts.without(&own.unwrap_or_default()) {
            Some(conflicts) => Err(ApplyError::Conflicts(conflicts)),
            None => {
                let outcome = self.merge_configuration(live, configuration, managers, true, by);
                outcome.map_err(ApplyError::Conflicts)
            }
        }
    }

    fn merge_configuration(
        &self,
        live: &Value,
        configuration: &Value,
        managers: Managers,
        force: bool,
        by: Writing<'_>,
    ) -> Result<Applied, Conflicts> {
        let of = self.own_type();
        let mut managers = managers;
        let merged = merge(Some(live), Some(configuration), of).unwrap_or_else(|| Value::Object(Map::new()));
        let manager = Manager::new(by.manager, Operation::Apply, &self.api_version, &self.subresource);
        let last = managers.owned.remove(&manager);
        let fields = self.reset.filter(&fields_of(configuration, of));
        let owned = Owned { fields, api_version: self.api_version.clone() };
        managers.set(&manager, owned.clone()); // apply.A1
        let object = match last {
            Some(last) => self.prune(merged, &managers, &last),
            None => merged,
        };
        let mut kept = managers.clone();
        let conflicts = self.conflicts(live, &object, &mut kept, &manager);
        if let Some(conflicts) = conflicts.filter(|_| !force) {
            return Err(conflicts);
        }
        self.give_up(live, &object, &mut managers, Some(&manager));
        managers.set(&manager, Owned { fields: owned.fields.difference(&never_owned()), ..owned });
        if !same(live, &object) {
            managers.times.insert(manager, by.now);
        }
        Ok(Applied { object, managers })
    }

    /// Returns the changed fields that other managers own.
    fn conflicts(
        &self,
        before: &Value,
        after: &Value,
        managers: &mut Managers,
        but: &Manager,
    ) -> Option<Conflicts> {
        let mut found = Vec::new();
        self.each_version(before, after, managers, |manager, owned, compared| {
            let changed = owned.fields.intersection(&compared.modified.union(&compared.added));
            if manager != but && !changed.is_empty() {
                found.push((manager.clone(), changed));
            }
            None
        });
        Conflicts::of(found)
    }

    /// Takes changed fields from all managers but one (`apply.A3`). Returns the changes in this version.
    fn give_up(
        &self,
        before: &Value,
        after: &Value,
        managers: &mut Managers,
        but: Option<&Manager>,
    ) -> Comparison {
        self.each_version(before, after, managers, |manager, owned, compared| {
            let gone = compared.modified.union(&compared.added).union(&compared.removed);
            (Some(manager) != but).then(|| owned.fields.difference(&gone))
        })
    }

    /// Updates each manager's fields by the changes in its version of the kind. Managers of versions that are no longer
    /// served are dropped.
    fn each_version(
        &self,
        before: &Value,
        after: &Value,
        managers: &mut Managers,
        mut ask: impl FnMut(&Manager, &Owned, &Comparison) -> Option<FieldSet>,
    ) -> Comparison {
        let compared_in = |version: &str| {
            let of = self.type_in(version)?;
            let (before, after) = (
                self.convert(before, &self.api_version, version)?,
                self.convert(after, &self.api_version, version)?,
            );
            Some(compare(&before, &after, of).filtered(|fields| self.reset.filter(&fields)))
        };
        let own = compared_in(&self.api_version).unwrap_or_default();
        managers.owned.retain(|manager, owned| {
            let other;
            let compared = match owned.api_version == self.api_version {
                true => &own,
                false => match compared_in(&owned.api_version) {
                    Some(compared) => {
                        other = compared;
                        &other
                    }
                    None => return false,
                },
            };
            if let Some(fields) = ask(manager, owned, compared) {
                owned.fields = fields;
            }
            !owned.fields.is_empty() // managers.G1
        });
        own
    }

    /// Removes what the applier owned before and does not apply now, unless another manager owns it (`apply.A2`).
    fn prune(&self, merged: Value, managers: &Managers, last: &Owned) -> Value {
        let pruned = || {
            let of = self.type_in(&last.api_version)?;
            let merged = self.convert(&merged, &self.api_version, &last.api_version)?;
            let last_fields = last.fields.with_named_fields(Some(of));
            let mut pruned = remove(&merged, &last_fields, of);
            let mut versions: Vec<&str> = vec![&last.api_version];
            for owned in managers.owned.values() {
                if !versions.contains(&&*owned.api_version) {
                    versions.push(&owned.api_version);
                }
            }
            for version in versions {
                pruned = self.put_back_owned(&merged, pruned, managers, (&last.api_version, version));
            }
            let named = |value: &Value| fields_of(value, of).with_named_fields(Some(of));
            let gone = named(&merged).difference(&named(&pruned)).intersection(&last_fields);
            self.convert(&without(&merged, &gone, of), &last.api_version, &self.api_version)
        };
        pruned().unwrap_or(merged)
    }

    /// Restores pruned fields that a manager owns in another version.
    fn put_back_owned(
        &self,
        merged: &Value,
        pruned: Value,
        managers: &Managers,
        (from, version): (&str, &str),
    ) -> Value {
        let back = || {
            let of = self.type_in(version)?;
            let merged = self.convert(merged, from, version)?;
            let pruned = self.convert(&pruned, from, version)?;
            let in_version = managers.owned.values().filter(|owned| owned.api_version == version);
            let owned = in_version.fold(FieldSet::default(), |all, owned| all.union(&owned.fields));
            let named = |fields: FieldSet| fields.with_named_fields(Some(of));
            let stays = named(fields_of(&pruned, of)).union(&named(owned));
            let gone = named(fields_of(&merged, of)).difference(&stays);
            self.convert(&without(&merged, &gone, of), version, from)
        };
        back().unwrap_or(pruned)
    }

    fn own_type(&self) -> Type<'_> {
        let defined = self.types.as_ref().and_then(|types| types.of(&self.api_version));
        defined.map_or_else(|| Type::of_kind(&self.kind), Type::defined)
    }

    fn is_autoscaler(&self) -> bool {
        self.kind.group == "autoscaling" && self.kind.kind == "HorizontalPodAutoscaler"
    }

    /// Returns the type of the kind in a version; `None` if the kind is not served in it.
    fn type_in(&self, version: &str) -> Option<Type<'_>> {
        if version == self.api_version {
            return Some(self.own_type());
        }
        if let Some(types) = &self.types {
            return types.of(version).map(Type::defined);
        }
        let short = version
            .strip_prefix("autoscaling/")
            .filter(|short| self.is_autoscaler() && matches!(*short, "v1" | "v2"))?;
        Some(Type::of_kind(&GroupVersionKind { version: short.to_owned(), ..self.kind.clone() }))
    }

    fn convert(&self, object: &Value, from: &str, to: &str) -> Option<Value> {
        if from == to {
            return Some(object.clone());
        }
        self.type_in(to)?;
        let mut fields = object.as_object()?.clone();
        match to {
            _ if self.types.is_some() => {} // versions of a custom kind differ only in `apiVersion`
            "autoscaling/v1" => show_autoscaler(&mut fields),
            _ => store_autoscaler(&mut fields),
        }
        fields.insert("apiVersion".to_owned(), to.into());
        Some(Value::Object(fields))
    }
}

/// Returns the value without these fields.
fn without(value: &Value, fields: &FieldSet, of: Type<'_>) -> Value {
    if fields.is_empty() { value.clone() } else { remove(value, fields, of) }
}

/// Returns the fields that never have an owner: those that identify the object, and those that the server writes.
fn never_owned() -> FieldSet {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}
