/// Whether parsed metadata includes annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Annotations {
    /// Annotations stay in the encoded body only: they can be long and are rarely used.
    #[default]
    Skip,
    /// Annotations are parsed and kept.
    Keep,
}
