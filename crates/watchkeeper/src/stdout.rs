//! Standard output: where a command writes what was asked for.

use std::io::{self, Write};

/// Nothing can be written any more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write")]
pub(crate) struct WriteError(#[from] io::Error);

/// Writes to standard output. A reader that has gone away wanted no more, which is no error.
pub(crate) fn print(bytes: &[u8]) -> Result<(), WriteError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}
