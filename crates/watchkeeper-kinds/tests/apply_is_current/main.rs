//! Checks that the committed apply types match the schema and resource tables.
#![allow(clippy::unwrap_used, reason = "a failure to set up is a test failure")]

#[path = "../generated/mod.rs"]
mod generated;
mod names;
mod render;
mod selection;

use selection::Selection;

#[test]
fn the_committed_apply_types_are_current() {
    let files = render::files(&Selection::from_tables());
    generated::assert_current("src/apply/types", "apply_is_current", &files);
}
