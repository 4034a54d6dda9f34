//! `watchkeeper transcode`: an object in its other encoding.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use watchkeeper_core::{Encoded, Encoding, GroupVersion, GroupVersionError};
use watchkeeper_wire::protobuf::{self, Envelope, MAGIC};
use watchkeeper_wire::transcode::{self, Types};
use watchkeeper_wire::{DecodeError, Kind, Malformed, json};

use crate::stdout::{WriteError, print};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The object: JSON, or protobuf that begins with `k8s\0` [default: standard input]
    file: Option<PathBuf>,
    /// The encoding to write [default: the other one]
    #[arg(short, long, value_enum)]
    output: Option<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Json,
    Protobuf,
}

/// Why an object was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TranscodeError {
    #[error("cannot read {0}")]
    Read(String, #[source] io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the envelope cannot be opened")]
    Envelope(#[source] Malformed),
    #[error("the type of the object cannot be read")]
    Type(#[source] Malformed),
    #[error(transparent)]
    ApiVersion(#[from] GroupVersionError),
    #[error("{kind} cannot be transcoded")]
    Object { kind: String, source: DecodeError },
    #[error("protobuf is not for a terminal: send it to a file with `> FILE`")]
    Terminal,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), TranscodeError> {
    let body = match &arguments.file {
        Some(path) => {
            fs::read(path).map_err(|error| TranscodeError::Read(path.display().to_string(), error))?
        }
        None => {
            let mut body = Vec::new();
            let read = io::stdin().read_to_end(&mut body);
            read.map_err(|error| TranscodeError::Read("standard input".to_owned(), error))?;
            body
        }
    };
    let (encoded, api_version, kind) = open(&body)?;
    let version: GroupVersion = api_version.parse()?;
    let kind = Kind::new(&version.group, &version.version, &kind);
    let other = match encoded.encoding {
        Encoding::Json => Output::Protobuf,
        Encoding::Protobuf => Output::Json,
    };
    let failed = |source| TranscodeError::Object { kind: kind.name().to_string(), source };
    match arguments.output.unwrap_or(other) {
        Output::Json => {
            let mut out = Vec::new();
            let types = match encoded.encoding {
                Encoding::Json => Types::Omitted, // it has its type already
                Encoding::Protobuf => Types::Named,
            };
            transcode::to_json(&encoded, &kind, types, &mut out).map_err(failed)?;
            out.push(b'\n');
            Ok(print(&out)?)
        }
        Output::Protobuf if io::stdout().is_terminal() => Err(TranscodeError::Terminal),
        Output::Protobuf => {
            let message = transcode::to_protobuf(&encoded, &kind).map_err(failed)?;
            Ok(print(&protobuf::wrap(kind.api_version(), kind.kind(), &message))?)
        }
    }
}

/// The object, and what it says it is.
fn open(body: &[u8]) -> Result<(Encoded, String, String), TranscodeError> {
    if body.starts_with(&MAGIC) {
        let envelope = Envelope::open(body).map_err(TranscodeError::Envelope)?;
        let encoded = Encoded::protobuf(envelope.message);
        return Ok((encoded, envelope.api_version.to_owned(), envelope.kind.to_owned()));
    }
    let body = body.trim_ascii();
    let (api_version, kind) = json::read_type(body).map_err(TranscodeError::Type)?;
    Ok((Encoded::json(body), api_version, kind))
}
