//! The `watchkeeper` command.

mod api_resources;
mod api_versions;
mod apiserver;
mod bool_flags;
mod completion;
mod connect;
mod demo;
mod events;
mod failure;
mod get;
mod log;
mod output;
mod program;
mod progress;
mod selection;
mod serve;
mod signal;
mod stdout;
mod transcode;
mod tree;
mod up;
mod version;
mod warnings;
mod watch;
mod web_server;

use std::io;
use std::pin::Pin;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// Examples printed after the help text.
const EXAMPLES: &str = "\
Examples:
  watchkeeper                                run a cluster in this process, and a web page over it
  watchkeeper up --kubeconfig ~/.kube/config show an existing cluster on the web page
  watchkeeper apiserver --write-kubeconfig kube.yaml
                                             run an API server with controllers, for kubectl and tests
  watchkeeper transcode pod.bin              convert a protobuf object, from etcd or the network, to JSON
  watchkeeper get pods -A                    print pods as kubectl does
  watchkeeper watch pods -A                  print every watch event as it arrives
  watchkeeper tree deployment/web            print an object, the objects it owns, and their health
";

/// Kubernetes in one process: an embedded cluster, a live web page over any cluster, and read commands like kubectl's
#[derive(Parser)]
#[command(name = "watchkeeper", version, after_help = EXAMPLES)]
struct Arguments {
    /// Defaults to `up`
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: connect::Flags,
    /// Log more; twice for debug output
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    /// Run a demo cluster in this process, and the web page over it; with --kubeconfig or --context, serve the page
    /// over that cluster
    Up(up::Arguments),
    /// Serve the web page and the HTTP API over a cluster
    Serve(serve::Arguments),
    /// Print the resource types that the server supports
    ApiResources(api_resources::Arguments),
    /// Print the API versions that the server supports
    ApiVersions(api_versions::Arguments),
    /// Run an API server until interrupted
    Apiserver(apiserver::Arguments),
    /// Print a shell completion script
    Completion(completion::Arguments),
    /// Print events, as kubectl events does
    Events(events::Arguments),
    /// Print objects, as kubectl get does
    Get(get::Arguments),
    /// Convert a Kubernetes object from JSON to protobuf, or back
    Transcode(transcode::Arguments),
    /// Print an object, the objects it owns, and the health of each
    Tree(tree::Arguments),
    /// Print the client and server versions
    Version(version::Arguments),
    /// Print every watch event of a resource as it arrives
    Watch(watch::Arguments),
}

fn main() -> ExitCode {
    let words = bool_flags::normalize(std::env::args_os(), &command());
    let parsed = command().try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print(); // there is no other place to report it
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

/// Builds the command line under the name that the user typed. If a flag is repeated, the last one wins, as with
/// kubectl.
fn command() -> clap::Command {
    Arguments::command().bin_name(program::name()).args_override_self(true)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let flags = &arguments.connection;
    match &arguments.command {
        None => block_on_all(up::run(&up::Arguments::defaults(), flags)),
        Some(Command::Up(arguments)) => block_on_all(up::run(arguments, flags)),
        Some(Command::Serve(arguments)) => block_on_all(serve::run(arguments, flags)),
        Some(Command::ApiResources(arguments)) => block_on(api_resources::run(arguments, flags)),
        Some(Command::ApiVersions(arguments)) => block_on(api_versions::run(arguments, flags)),
        Some(Command::Apiserver(arguments)) => block_on_all(apiserver::run(arguments)),
        Some(Command::Completion(arguments)) => completion::run(arguments, command()),
        Some(Command::Events(arguments)) => events::run(arguments, flags),
        Some(Command::Get(arguments)) => block_on(get::run(arguments, flags)),
        Some(Command::Transcode(arguments)) => transcode::run(arguments).map_err(|error| Failure::of(&error)),
        Some(Command::Tree(arguments)) => block_on(tree::run(arguments, flags)),
        Some(Command::Version(arguments)) => block_on(version::run(arguments, flags)),
        Some(Command::Watch(arguments)) => watch::run(arguments, flags),
    }
}

/// Runs a server command on a multi-threaded runtime.
fn block_on_all(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let start = || -> io::Result<_> {
        watchkeeper_heap::start_trimming()?;
        tokio::runtime::Builder::new_multi_thread().enable_all().build()
    };
    start().map_err(|error| Failure::of(&error))?.block_on(Box::pin(command) as BoxedCommand<'_>)
}

/// A command without its type, so that the code of a runtime is compiled once and not for each command.
type BoxedCommand<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// Runs a client command on a current-thread runtime.
fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error: io::Error| Failure::of(&error))?;
    runtime.block_on(Box::pin(command) as BoxedCommand<'_>)
}
