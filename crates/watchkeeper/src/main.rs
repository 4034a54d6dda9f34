//! The `watchkeeper` command.

mod apiserver;
mod transcode;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What there is to see before there is a cluster to watch.
const SO_FAR: &str = "\
Watchkeeper is being built from the bytes up. This version has a cluster in memory, and the codecs:

  watchkeeper apiserver --write-kubeconfig kube.yaml
                                       a cluster for kubectl and client-go, with controllers
  watchkeeper transcode pod.bin        a protobuf body, from etcd or from the wire, as JSON
  watchkeeper transcode pod.json -o protobuf > pod.bin

Not built yet: up, serve, get, watch, tree, events, api-resources, api-versions, completion.
As a library it has the vocabulary (watchkeeper-core), the codecs (watchkeeper-wire), the server
(watchkeeper-apiserver) and what makes it live (watchkeeper-cluster), a cluster for tests
(watchkeeper-testkit), a client (watchkeeper-client), its types (watchkeeper-kinds), informers
(watchkeeper-cache) and controllers (watchkeeper-controller): see README.md.
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
    /// Run an API server in memory until it is interrupted
    Apiserver(apiserver::Arguments),
    /// Turn a Kubernetes object into its other encoding
    Transcode(transcode::Arguments),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let outcome: Result<(), Box<dyn Error>> = match Arguments::parse().command {
        None => transcode::print(SO_FAR.as_bytes()).map_err(Into::into),
        Some(Command::Version) => {
            transcode::print(concat!("watchkeeper ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())
                .map_err(Into::into)
        }
        Some(Command::Apiserver(arguments)) => apiserver::run(&arguments).map_err(Into::into),
        Some(Command::Transcode(arguments)) => transcode::run(&arguments).map_err(Into::into),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// An error and what caused it, on one line.
fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
