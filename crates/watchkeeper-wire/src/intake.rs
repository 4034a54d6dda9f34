//! Intake: what becomes of an object when it arrives.

use crate::{Annotations, Limits, Paths};

/// What a head keeps of an arriving object, and what its body loses.
///
/// ```
/// use watchkeeper_wire::{Annotations, Intake, Limits, Paths};
///
/// let intake = Intake { annotations: Annotations::Keep, ..Intake::default() };
/// assert_eq!(intake.cut, Paths::managed_fields());
/// assert_eq!(intake.limits, Limits::DEFAULT);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intake {
    /// Whether the head has the annotations.
    pub annotations: Annotations,
    /// What is cut out of the body. The head is read before.
    pub cut: Paths,
    /// How long and how deep an object may be.
    pub limits: Limits,
}

/// No annotations in the head, no `metadata.managedFields` in the body.
impl Default for Intake {
    fn default() -> Self {
        Self { annotations: Annotations::default(), cut: Paths::managed_fields(), limits: Limits::default() }
    }
}
