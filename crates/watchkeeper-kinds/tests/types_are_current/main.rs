//! Checks that the committed types match the schema, resource and documentation tables.
#![allow(clippy::unwrap_used, reason = "a failure to set up is a test failure")]

mod docs;
#[path = "../generated/mod.rs"]
mod generated;
#[path = "../apply_is_current/names.rs"]
#[expect(dead_code, reason = "shared with apply_is_current")]
mod names;
mod render;
#[path = "../clientset_is_current/table.rs"]
#[expect(dead_code, reason = "shared with clientset_is_current")]
mod table;

#[test]
fn the_committed_types_are_current() {
    generated::assert_current("src/api", "types_are_current", &render::files());
}
