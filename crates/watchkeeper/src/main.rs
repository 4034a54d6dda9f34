//! The `watchkeeper` command.

mod api_resources;
mod api_versions;
mod apiserver;
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
mod site;
mod stdout;
mod switches;
mod transcode;
mod tree;
mod up;
mod version;
mod warnings;
mod watch;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// Returns freed memory to the system within seconds, also while nothing is allocated: see
/// `docs/decisions/0012-the-allocator-of-the-command.md`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What to try.
const EXAMPLES: &str = "\
Examples:
  watchkeeper                                a cluster in this process, and the page over it
  watchkeeper up --kubeconfig ~/.kube/config the page over a real one
  watchkeeper apiserver --write-kubeconfig kube.yaml
                                             an API server with controllers, for kubectl and tests
  watchkeeper transcode pod.bin              a protobuf body, from etcd or from the wire, as JSON
  watchkeeper get pods -A                    as kubectl prints them
  watchkeeper watch pods -A                  every event, as it comes
  watchkeeper tree deployment/web            what belongs to it, and how it is
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
    /// Print the resources that the server has
    ApiResources(api_resources::Arguments),
    /// Print the versions of groups that the server has
    ApiVersions(api_versions::Arguments),
    /// Run an API server until it is interrupted
    Apiserver(apiserver::Arguments),
    /// Print a script that completes commands in a shell
    Completion(completion::Arguments),
    /// Print what has happened, as kubectl events does
    Events(events::Arguments),
    /// Print objects, as kubectl get does
    Get(get::Arguments),
    /// Turn a Kubernetes object into its other encoding
    Transcode(transcode::Arguments),
    /// Print what belongs to an object, and how each part of it is
    Tree(tree::Arguments),
    /// Print the versions of this command and of the server
    Version(version::Arguments),
    /// Print every event of a resource as it comes
    Watch(watch::Arguments),
}

fn main() -> ExitCode {
    let words = switches::plain(std::env::args_os(), &command());
    let parsed = command().try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
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

/// The command under the name that the user knows it by. Of what is said twice the last counts, as with kubectl.
fn command() -> clap::Command {
    Arguments::command().bin_name(program::name()).args_override_self(true)
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let flags = &arguments.connection;
    match &arguments.command {
        None => block_on_all(up::run(&up::Arguments::unsaid(), flags)),
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
