//! Conflicts: fields that one manager applies and others own.

use watchkeeper_core::{CauseType, Outcome, Quoted, Status, StatusCause, StatusDetails, StatusReason};

use super::field_set::{FieldPath, FieldSet};
use super::managers::{Manager, Operation};

/// Fields that an apply would change and others own. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflicts {
    /// The fields of each manager, in the order of the managers.
    found: Vec<(Manager, FieldSet)>,
}

impl Conflicts {
    /// Returns `None` if there are no conflicts.
    pub(super) fn of(found: Vec<(Manager, FieldSet)>) -> Option<Self> {
        (!found.is_empty()).then_some(Self { found })
    }

    /// Returns the conflicts that are not about these fields.
    pub(super) fn without(&self, fields: &FieldSet) -> Option<Self> {
        let left = self.found.iter().map(|(manager, owned)| (manager.clone(), owned.difference(fields)));
        Self::of(left.filter(|(_, owned)| !owned.is_empty()).collect())
    }

    fn paths(&self) -> impl Iterator<Item = (&Manager, FieldPath)> {
        self.found
            .iter()
            .flat_map(|(manager, fields)| fields.paths().into_iter().map(move |path| (manager, path)))
    }

    /// Returns a 409 with a cause per field.
    pub(crate) fn status(&self) -> Status {
        let causes: Vec<StatusCause> = self
            .paths()
            .map(|(manager, path)| StatusCause {
                cause: CauseType::FieldManagerConflict,
                message: format!("conflict with {}", shown(manager)),
                field: path.to_string(),
            })
            .collect();
        let message = match &causes[..] {
            [cause] => format!("Apply failed with 1 conflict: {}: {}", cause.message, cause.field),
            causes => {
                let mut lines = Vec::new();
                for (manager, fields) in &self.found {
                    lines.push(format!("conflicts with {}:", shown(manager)));
                    lines.extend(fields.paths().iter().map(|path| format!("- {path}")));
                }
                format!("Apply failed with {} conflicts: {}", causes.len(), lines.join("\n"))
            }
        };
        Status {
            outcome: Some(Outcome::Failure),
            code: 409,
            reason: StatusReason::Conflict,
            message,
            details: Some(Box::new(StatusDetails { causes, ..Default::default() })),
            ..Default::default()
        }
    }
}

fn shown(manager: &Manager) -> String {
    let mut shown = Quoted(&manager.name).to_string();
    if !manager.subresource.is_empty() {
        shown += &format!(" with subresource {}", Quoted(&manager.subresource));
    }
    if manager.operation == Operation::Update {
        shown += &format!(" using {}", manager.api_version());
    }
    shown
}
