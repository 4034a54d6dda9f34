//! Standard output: where a command writes what was asked for.

use std::io::{self, Write};
use std::ops::ControlFlow;

/// Nothing can be written any more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write")]
pub(crate) struct WriteError(#[from] io::Error);

/// Writes to standard output. A reader that has gone away wanted no more, which is no error.
pub(crate) fn print(bytes: &[u8]) -> Result<(), WriteError> {
    print_more(bytes).map(|_| ())
}

/// Writes to standard output, and says whether somebody is there to read on.
pub(crate) fn print_more(bytes: &[u8]) -> Result<ControlFlow<()>, WriteError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        outcome => Ok(outcome.map(ControlFlow::Continue)?),
    }
}
