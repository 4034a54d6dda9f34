//! Records: reads the output of our Go programs through a pipe.
//!
//! Input:  a program under `cmd/` that writes records back to back. Each field of a record is a length (32 bits, big
//!         endian) followed by that many bytes.
//! Output: one record at a time, for [`random_objects`](crate::random_objects) and [`words`](crate::words()). Records
//!         are streamed, not collected.

use std::io::{self, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use crate::binaries::{Binaries, BuildError};

/// Larger than any field that a program writes. A larger length means that the stream is corrupt.
const MAX_FIELD_LENGTH: u32 = 1 << 24;

/// Why reading a record failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The binaries could not be built.
    #[error("failed to build the binaries")]
    Build(#[from] BuildError),
    /// The program could not be started, or its output ended within a record or is invalid.
    #[error("failed to read records")]
    Stream(#[from] io::Error),
    /// The program failed; its stderr has the reason.
    #[error("the program that writes records failed with {0}")]
    Failed(ExitStatus),
}

/// The records of a running program. Dropping them kills the program.
#[derive(Debug)]
pub(crate) struct Records {
    program: Child,
    stream: BufReader<ChildStdout>,
    ended: bool,
}

impl Records {
    /// Starts the program.
    pub(crate) fn run<const N: usize>(program: &str, arguments: [&str; N]) -> Result<Self, RecordError> {
        let mut program = Command::new(Binaries::get()?.path(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = program.stdout.take().expect("its stdout is a pipe");
        Ok(Self { program, stream: BufReader::with_capacity(1 << 18, stdout), ended: false })
    }

    /// Returns the next record, which has `N` fields, or `None` after the last record and after an error.
    pub(crate) fn next<const N: usize>(&mut self) -> Option<Result<[Vec<u8>; N], RecordError>> {
        if self.ended {
            return None;
        }
        let next = self.read().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }

    fn read<const N: usize>(&mut self) -> Result<Option<[Vec<u8>; N]>, RecordError> {
        let mut first = [0];
        if self.stream.read(&mut first)? == 0 {
            let status = self.program.wait()?;
            return if status.success() { Ok(None) } else { Err(RecordError::Failed(status)) };
        }
        let mut record = [const { Vec::new() }; N];
        for (index, field) in record.iter_mut().enumerate() {
            *field = self.field((index == 0).then_some(first[0]))?;
        }
        Ok(Some(record))
    }

    /// Reads one field. `first` is the first byte of its length, if that has already been read.
    fn field(&mut self, first: Option<u8>) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        match first {
            Some(byte) => {
                length[0] = byte;
                self.stream.read_exact(&mut length[1..])?;
            }
            None => self.stream.read_exact(&mut length)?,
        }
        let length = u32::from_be_bytes(length);
        if length > MAX_FIELD_LENGTH {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("invalid field length {length}")));
        }
        let mut field = vec![0; length as usize];
        self.stream.read_exact(&mut field)?;
        Ok(field)
    }
}

/// Decodes a field as UTF-8.
pub(crate) fn text(field: Vec<u8>) -> io::Result<String> {
    String::from_utf8(field).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl Drop for Records {
    fn drop(&mut self) {
        let _ = self.program.kill(); // fails only if the program has exited
        let _ = self.program.wait();
    }
}
