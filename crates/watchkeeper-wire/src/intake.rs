//! Intake: what becomes of an object when it arrives.

use crate::{Annotations, FieldPath, Limits, Paths};

/// What a head keeps of an arriving object, and what its body loses.
///
/// ```
/// use watchkeeper_wire::{Annotations, Intake, Limits, Paths};
///
/// let intake = Intake { annotations: Annotations::Keep, ..Intake::default() };
/// assert_eq!(intake.cut, Paths::managed_fields());
/// assert_eq!(intake.limits, Limits::DEFAULT);
///
/// let thin = Intake::dropping(["spec.template".parse()?, "status".parse()?]);
/// let thinner = Intake::keeping(["spec.nodeName".parse()?]); // and the metadata
/// let whole = Intake { cut: Paths::none(), ..Intake::default() }; // with managedFields
/// # Ok::<(), watchkeeper_wire::FieldPathError>(())
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

impl Intake {
    /// Cuts these fields out, and `metadata.managedFields`.
    pub fn dropping(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let mut cut = Paths::managed_fields();
        paths.into_iter().for_each(|path| cut.add(&path));
        Self { cut, ..Self::default() }
    }

    /// Cuts everything out but these fields and the metadata, which loses `managedFields` unless they are among
    /// these.
    pub fn keeping(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let paths: Vec<FieldPath> = paths.into_iter().collect();
        let [metadata, managed] = ["metadata", "metadata.managedFields"].map(field);
        let is_managed = paths.iter().any(|path| path.parts().starts_with(managed.parts()));
        let mut cut = Paths::all_but(paths.into_iter().chain([metadata]));
        if !is_managed {
            cut.add(&managed);
        }
        Self { cut, ..Self::default() }
    }
}

fn field(path: &str) -> FieldPath {
    path.parse().expect("it is a field path")
}

/// No annotations in the head, no `metadata.managedFields` in the body.
impl Default for Intake {
    fn default() -> Self {
        Self { annotations: Annotations::default(), cut: Paths::managed_fields(), limits: Limits::default() }
    }
}
