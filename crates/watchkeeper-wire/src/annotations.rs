/// Whether a head keeps the annotations of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Annotations {
    /// They stay in the body alone: they can be long, and few look at them.
    #[default]
    Skip,
    /// They are kept in the head as labels are.
    Keep,
}
