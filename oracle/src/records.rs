//! Records: what a Go program of ours writes, through a pipe.
//!
//! From: a program under `cmd/` that writes records back to back. A record is fields, each a length (32 bits, big
//!       endian) and as many bytes.
//! To:   [`random_objects`](crate::random_objects) and [`words`](crate::words()), one record at a time; none is stored.

use std::io::{self, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use crate::binaries::{Binaries, BuildError};

/// Longer than any field that a program writes: past this, it is no field.
const LONGEST: u32 = 1 << 24;

/// Why a record did not arrive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no program to ask.
    #[error("no binaries")]
    Build(#[from] BuildError),
    /// The program could not be run, or its stream broke off within a record.
    #[error("the stream of records broke off")]
    Stream(#[from] io::Error),
    /// The program failed; it has said why on stderr.
    #[error("the program that writes records ended with {0}")]
    Failed(ExitStatus),
}

/// The stream of a program. Dropping it ends the program.
#[derive(Debug)]
pub(crate) struct Records {
    program: Child,
    stream: BufReader<ChildStdout>,
    ended: bool,
}

impl Records {
    /// Runs the program.
    pub(crate) fn of<const N: usize>(program: &str, arguments: [&str; N]) -> Result<Self, RecordError> {
        let mut program = Command::new(Binaries::get()?.path(program))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = program.stdout.take().expect("its stdout is a pipe");
        Ok(Self { program, stream: BufReader::with_capacity(1 << 18, stdout), ended: false })
    }

    /// The next record, which has `N` fields; `None` after the last, and after an error.
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

    /// Reads a length and as many bytes. The length's first byte may have been read already.
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
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a field of {length} bytes")));
        }
        let mut field = vec![0; length as usize];
        self.stream.read_exact(&mut field)?;
        Ok(field)
    }
}

/// A field that is text.
pub(crate) fn text(field: Vec<u8>) -> io::Result<String> {
    String::from_utf8(field).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

impl Drop for Records {
    fn drop(&mut self) {
        let _ = self.program.kill(); // fails only if it has ended
        let _ = self.program.wait();
    }
}
