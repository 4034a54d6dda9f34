//! Standard output of a command.

use std::io::{self, Write};
use std::ops::ControlFlow;

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("failed to write to standard output")]
pub(crate) struct WriteError(#[from] io::Error);

/// Writes to standard output. A closed pipe is not an error.
pub(crate) fn print(bytes: &[u8]) -> Result<(), WriteError> {
    print_more(bytes).map(|_| ())
}

/// Writes to standard output. Returns `Break` if the reader has closed the pipe.
pub(crate) fn print_more(bytes: &[u8]) -> Result<ControlFlow<()>, WriteError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        outcome => Ok(outcome.map(ControlFlow::Continue)?),
    }
}
