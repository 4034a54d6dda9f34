//! The `watchkeeper` command.

mod api_versions;
mod apiserver;
mod connect;
mod failure;
#[allow(dead_code, unused_imports, reason = "what reads objects comes next")]
mod output;
#[allow(dead_code, reason = "what reads objects comes next")]
mod selection;
mod stdout;
mod transcode;
mod warnings;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// What there is to see before there is a cluster to watch.
const SO_FAR: &str = "\
Watchkeeper is being built from the bytes up. This version has a cluster in memory, and the codecs:

  watchkeeper apiserver --write-kubeconfig kube.yaml
                                       a cluster for kubectl and client-go, with controllers
  watchkeeper transcode pod.bin        a protobuf body, from etcd or from the wire, as JSON
  watchkeeper transcode pod.json -o protobuf > pod.bin

Not built yet: up, serve, get, watch, tree, events, api-resources, completion.
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
    #[command(flatten)]
    connection: connect::Flags,
}

#[derive(Subcommand)]
enum Command {
    /// Print the versions of groups that the server has
    ApiVersions(api_versions::Arguments),
    /// Run an API server in memory until it is interrupted
    Apiserver(apiserver::Arguments),
    /// Turn a Kubernetes object into its other encoding
    Transcode(transcode::Arguments),
    /// Print the version
    Version,
}

fn main() -> ExitCode {
    let parsed = command().try_get_matches().and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print(); // nobody is there to be told
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The command under the name that the user knows it by: kubectl runs `kubectl-watchkeeper` for
/// `kubectl watchkeeper`.
fn command() -> clap::Command {
    let program = std::env::args_os().next();
    let name = program.as_deref().map(Path::new).and_then(Path::file_stem);
    match name == Some(OsStr::new("kubectl-watchkeeper")) {
        true => Arguments::command().bin_name("kubectl watchkeeper"),
        false => Arguments::command(),
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let flags = &arguments.connection;
    match &arguments.command {
        None => Ok(stdout::print(SO_FAR.as_bytes())?),
        Some(Command::ApiVersions(arguments)) => block_on(api_versions::run(arguments, flags)),
        Some(Command::Apiserver(arguments)) => apiserver::run(arguments).map_err(|error| Failure::of(&error)),
        Some(Command::Transcode(arguments)) => transcode::run(arguments).map_err(|error| Failure::of(&error)),
        Some(Command::Version) => {
            Ok(stdout::print(concat!("watchkeeper ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())?)
        }
    }
}

/// Runs a command that asks a server and is done.
fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error: io::Error| Failure::of(&error))?;
    runtime.block_on(command)
}
