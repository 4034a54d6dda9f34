//! The `watchkeeper` command.

mod transcode;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What there is to see before there is a cluster to watch.
const SO_FAR: &str = "\
Watchkeeper is being built from the bytes up. This version reads and writes what an API server sends:

  watchkeeper transcode pod.bin        a protobuf body, from etcd or from the wire, as JSON
  watchkeeper transcode pod.json -o protobuf > pod.bin

Not built yet: up, apiserver, serve, get, watch, tree, events, api-resources, api-versions, completion.
As a library it has the vocabulary (watchkeeper-core) and the codecs (watchkeeper-wire): see README.md.
";

/// Kubernetes list-watch: what this version can do so far.
#[derive(Parser)]
#[command(name = "watchkeeper", version, after_help = SO_FAR)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Turn a Kubernetes object into its other encoding
    Transcode(transcode::Arguments),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        None => transcode::print(SO_FAR.as_bytes()),
        Some(Command::Version) => {
            transcode::print(concat!("watchkeeper ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())
        }
        Some(Command::Transcode(arguments)) => transcode::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error and what caused it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
