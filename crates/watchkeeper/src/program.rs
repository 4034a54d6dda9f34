//! Program: the name that the user knows this command by.

use std::ffi::OsStr;
use std::path::Path;

/// `kubectl watchkeeper` where kubectl runs it as its plugin `kubectl-watchkeeper`.
pub(crate) fn name() -> &'static str {
    let program = std::env::args_os().next();
    let file = program.as_deref().map(Path::new).and_then(Path::file_stem);
    match file == Some(OsStr::new("kubectl-watchkeeper")) {
        true => "kubectl watchkeeper",
        false => "watchkeeper",
    }
}
