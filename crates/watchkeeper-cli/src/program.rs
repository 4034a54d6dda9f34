//! Program name: the name under which the user runs this command.

use std::ffi::OsStr;
use std::path::Path;

/// Returns `kubectl watchkeeper` if kubectl runs it as its plugin `kubectl-watchkeeper`.
pub(crate) fn name() -> &'static str {
    let program = std::env::args_os().next();
    let file = program.as_deref().map(Path::new).and_then(Path::file_stem);
    if file == Some(OsStr::new("kubectl-watchkeeper")) { "kubectl watchkeeper" } else { "watchkeeper" }
}
