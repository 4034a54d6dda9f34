//! `watchkeeper transcode`: converts an object between JSON and protobuf.

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
    /// File with the object: JSON, or protobuf that begins with `k8s\0` [default: standard input]
    file: Option<PathBuf>,
    /// Output encoding [default: the other one]
    #[arg(short, long, value_enum)]
    output: Option<Output>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Json,
    Protobuf,
}

/// An error of `transcode`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TranscodeError {
    #[error("failed to read {0}")]
    Read(String, #[source] io::Error),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("invalid protobuf envelope")]
    Envelope(#[source] Malformed),
    #[error("failed to read apiVersion and kind")]
    Type(#[source] Malformed),
    #[error(transparent)]
    ApiVersion(#[from] GroupVersionError),
    #[error("failed to transcode {kind}")]
    Object { kind: String, source: DecodeError },
    #[error("refusing to write protobuf to a terminal; redirect it to a file with `> FILE`")]
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
    let error = |source| TranscodeError::Object { kind: kind.name().to_string(), source };
    match arguments.output.unwrap_or(other) {
        Output::Json => {
            let mut out = Vec::new();
            let types = match encoded.encoding {
                Encoding::Json => Types::Omitted, // already has apiVersion and kind
                Encoding::Protobuf => Types::Named,
            };
            transcode::to_json(&encoded, &kind, types, &mut out).map_err(error)?;
            out.push(b'\n');
            Ok(print(&out)?)
        }
        Output::Protobuf if io::stdout().is_terminal() => Err(TranscodeError::Terminal),
        Output::Protobuf => {
            let message = transcode::to_protobuf(&encoded, &kind).map_err(error)?;
            Ok(print(&protobuf::wrap(kind.api_version(), kind.kind(), &message))?)
        }
    }
}

/// Returns the object, its apiVersion and its kind.
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
