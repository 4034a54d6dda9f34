//! Options for reading objects.

use crate::{Annotations, FieldPath, Limits, Paths};

/// Options for reading an object: parsed annotations, pruned fields and limits.
///
/// ```
/// use watchkeeper_wire::{Annotations, ReadOptions, Limits, Paths};
///
/// let read_options = ReadOptions { annotations: Annotations::Keep, ..ReadOptions::default() };
/// assert_eq!(read_options.cut, Paths::managed_fields());
/// assert_eq!(read_options.limits, Limits::DEFAULT);
///
/// let thin = ReadOptions::dropping(["spec.template".parse()?, "status".parse()?]);
/// let thinner = ReadOptions::keeping(["spec.nodeName".parse()?]); // and the metadata
/// let whole = ReadOptions { cut: Paths::none(), ..ReadOptions::default() }; // with managedFields
/// # Ok::<(), watchkeeper_wire::FieldPathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether to parse annotations.
    pub annotations: Annotations,
    /// The fields to prune from the body, after the metadata has been parsed.
    pub cut: Paths,
    /// Limits on size and depth.
    pub limits: Limits,
}

impl ReadOptions {
    /// Prunes these fields and `metadata.managedFields`.
    pub fn dropping(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        let mut cut = Paths::managed_fields();
        paths.into_iter().for_each(|path| cut.add(&path));
        Self { cut, ..Self::default() }
    }

    /// Prunes everything except these fields and the metadata. `metadata.managedFields` is pruned unless listed.
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
    path.parse().expect("valid field path")
}

/// Skips annotations and prunes `metadata.managedFields`.
impl Default for ReadOptions {
    fn default() -> Self {
        Self { annotations: Annotations::default(), cut: Paths::managed_fields(), limits: Limits::default() }
    }
}
