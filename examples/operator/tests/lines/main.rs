//! The operator is shorter than the same operator written with kube-rs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "it is only compiled")]
mod kube_rs;

/// Returns the number of lines that are neither blank nor comments.
fn code_lines(source: &str) -> usize {
    let lines = source.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn the_operator_needs_fewer_lines_than_its_kube_rs_twin() {
    // Both call the same functions for the custom resource, the deployment, the registration and the status.
    let ours = code_lines(include_str!("../../src/reconcile.rs"));
    let twin = code_lines(include_str!("kube_rs.rs"));
    assert!(ours <= 80 && ours < twin, "{ours} lines, {twin} with kube-rs");
}
