//! Limits: what a parser takes before it refuses. Every one has a name, and every refusal names it.

/// What a parser is ready to hold and to follow.
///
/// Nothing that a server sends makes a parser keep more than these; the defaults are generous for
/// Kubernetes, whose objects are at most 1.5 MB in etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one object: a list item, the object of a watch event, a body.
    pub object_bytes: usize,
    /// Bytes of what surrounds the items of a list: its `metadata`, its unknown fields.
    pub envelope_bytes: usize,
    /// How deep objects, arrays or messages may be nested.
    pub depth: usize,
}

impl Limits {
    /// 16 MiB an object (the frame limit of Go's client), 1 MiB around the items, 512 levels
    /// (twice what is possible for a custom resource's schema, and a stack that never runs out).
    pub const DEFAULT: Self = Self { object_bytes: 16 << 20, envelope_bytes: 1 << 20, depth: 512 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How deep messages may be nested where they are decoded or transcoded. The visitor of a large type
/// takes many kilobytes of stack a level, and a worker thread has 2 MiB. It is what serde_json's
/// limit of 128 comes to for the one kind that nests without end, the schema of a custom resource,
/// where every message is two levels of JSON.
pub const MESSAGE_DEPTH: usize = 64;
