//! The `watchkeeper` command.

mod api_versions;
mod apiserver;
mod connect;
mod demo;
mod failure;
mod log;
#[allow(dead_code, unused_imports, reason = "what reads objects comes next")]
mod output;
#[allow(dead_code, reason = "what reads objects comes next")]
mod selection;
mod serve;
mod signal;
mod site;
mod stdout;
mod transcode;
mod up;
mod warnings;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// What to try.
const EXAMPLES: &str = "\
Examples:
  watchkeeper                                a cluster in this process, and the page over it
  watchkeeper up --kubeconfig ~/.kube/config the page over a real one
  watchkeeper apiserver --write-kubeconfig kube.yaml
                                             an API server with controllers, for kubectl and tests
  watchkeeper transcode pod.bin              a protobuf body, from etcd or from the wire, as JSON
";

/// Kubernetes, watched: a cluster in the box, a live page over any cluster, and what kubectl reads.
#[derive(Parser)]
#[command(name = "watchkeeper", version, after_help = EXAMPLES)]
struct Arguments {
    /// Without one it is `up`
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: connect::Flags,
    /// Say more of what is done; twice for how
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Run a cluster in this process with something going on in it, and the page over it; with --kubeconfig or
    /// --context, the page over that cluster
    Up(up::Arguments),
    /// Serve the page and the web service over a cluster
    Serve(serve::Arguments),
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
    log::start(arguments.verbose);
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
        None => block_on_all(up::run(&up::Arguments::unsaid(), flags)),
        Some(Command::Up(arguments)) => block_on_all(up::run(arguments, flags)),
        Some(Command::Serve(arguments)) => block_on_all(serve::run(arguments, flags)),
        Some(Command::ApiVersions(arguments)) => block_on(api_versions::run(arguments, flags)),
        Some(Command::Apiserver(arguments)) => apiserver::run(arguments).map_err(|error| Failure::of(&error)),
        Some(Command::Transcode(arguments)) => transcode::run(arguments).map_err(|error| Failure::of(&error)),
        Some(Command::Version) => {
            Ok(stdout::print(concat!("watchkeeper ", env!("CARGO_PKG_VERSION"), "\n").as_bytes())?)
        }
    }
}

/// Runs a command that is a server, on all processors.
fn block_on_all(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error: io::Error| Failure::of(&error))?;
    runtime.block_on(command)
}

/// Runs a command that asks a server and is done.
fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error: io::Error| Failure::of(&error))?;
    runtime.block_on(command)
}
