//! Size and depth limits of parsers.

/// Limits on the memory and recursion of a parser.
///
/// No response makes a parser exceed these. The defaults are generous: etcd stores at most 1.5 MB
/// per object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum bytes of one object: a list item, the object of a watch event, a body.
    pub object_bytes: usize,
    /// Maximum bytes of a list apart from its items: `metadata` and unknown fields.
    pub envelope_bytes: usize,
    /// Maximum nesting depth of objects, arrays or messages.
    pub depth: usize,
}

impl Limits {
    /// 16 MiB per object (the frame limit of Go's client), 1 MiB apart from the items, and 512 levels
    /// (twice the maximum of a custom resource's schema, and safe for the stack).
    pub const DEFAULT: Self = Self { object_bytes: 16 << 20, envelope_bytes: 1 << 20, depth: 512 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Maximum nesting depth of decoded or transcoded messages. The visitor of a large type takes many
/// kilobytes of stack per level, and a worker thread has 2 MiB. It matches serde_json's limit of 128
/// for the only recursive kind, a custom resource's schema, where a message is two levels of JSON.
pub const MESSAGE_DEPTH: usize = 64;
