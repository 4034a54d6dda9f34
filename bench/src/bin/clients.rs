//! What does a client cost? Watchkeeper's beside client-go and kube-client, at one server, which is running
//! and empty.
//!
//! Workload: 20,000 pods without managed fields, listed as a whole, undecoded and decoded; 10,000 config maps
//! of a kilobyte, got one by one by 32 workers. Every job is a process of its own; rounds alternate between
//! the clients and the best of each counts. Not counted: starting, connecting, freeing what was fetched.
//!
//! ```text
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- client
//! ```

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::process::Command;
use watchkeeper_bench::client::{Contest, Job, Report, populate};
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::{Endpoint, ListForm, Outcome, check_list};

/// How long all of it may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// Measures Watchkeeper's client beside client-go and kube-client
#[derive(Parser)]
struct Arguments {
    /// The server: it is empty
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// The server has what this command creates already
    #[arg(long)]
    populated: bool,
    /// The program around client-go
    #[arg(long, value_name = "PATH")]
    client_go: PathBuf,
    /// The program around kube-client
    #[arg(long, value_name = "PATH")]
    kube_client: PathBuf,
    /// The program around ours; by default the one that was built beside this
    #[arg(long, value_name = "PATH")]
    watchkeeper: Option<PathBuf>,
    /// How many pods
    #[arg(long, default_value_t = Pods::MANY)]
    pods: usize,
    /// How many rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

/// A job as the table has it.
struct Event {
    what: &'static str,
    job: Job,
    compress: bool,
    goal: Option<(&'static str, f64)>,
}

const EVENTS: [Event; 5] = [
    Event {
        what: "list as protobuf, undecoded",
        job: Job::ListRaw,
        compress: false,
        goal: Some((CLIENT_GO, 0.5)),
    },
    Event {
        what: "list as JSON, undecoded",
        job: Job::ListRawJson,
        compress: false,
        goal: Some((CLIENT_GO, 0.5)),
    },
    Event { what: "list, decoded", job: Job::ListTyped, compress: false, goal: Some((CLIENT_GO, 0.5)) },
    Event { what: "list, compressed, decoded", job: Job::ListTyped, compress: true, goal: None },
    Event { what: "10,000 gets", job: Job::Gets, compress: false, goal: Some((KUBE_CLIENT, 0.7)) },
];

const CLIENT_GO: &str = "client-go";
const KUBE_CLIENT: &str = "kube-client";
const NAMES: [&str; 3] = [CLIENT_GO, KUBE_CLIENT, "Watchkeeper"];

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut contest = Contest::new(&NAMES);
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(PATIENCE, compare(&arguments, &mut contest)) => outcome,
        _ = tokio::signal::ctrl_c() => return ExitCode::FAILURE,
    };
    println!("{}", contest.render()); // as far as it came
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("error: not done after {PATIENCE:?}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(arguments: &Arguments, contest: &mut Contest) -> Outcome<()> {
    let ours = match &arguments.watchkeeper {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("client"),
    };
    let programs = [&arguments.client_go, &arguments.kube_client, &ours];
    let endpoint = Endpoint::read(&arguments.kubeconfig)?;
    if !arguments.populated {
        let begun = Instant::now();
        populate(&endpoint, arguments.pods).await?;
        eprintln!("created {} pods in {:.0} s", arguments.pods, begun.elapsed().as_secs_f64());
    }
    for form in [ListForm::Json, ListForm::Protobuf] {
        let bytes = check_list(&endpoint, form, arguments.pods).await?;
        eprintln!("a pod has {bytes} bytes as {form:?}");
    }
    for event in EVENTS {
        let mut rounds = vec![Vec::new(); programs.len()];
        for _ in 0..arguments.rounds {
            for (position, program) in programs.into_iter().enumerate() {
                if event.compress && NAMES[position] == KUBE_CLIENT {
                    continue; // as it is by default, it does not know how
                }
                let report = run(program, &event, arguments).await?;
                eprintln!("{report}");
                rounds[position].push(report);
            }
        }
        contest.job(event.what, &rounds, event.goal);
    }
    Ok(())
}

async fn run(program: &PathBuf, event: &Event, arguments: &Arguments) -> Outcome<Report> {
    let mut command = Command::new(program);
    command.arg(event.job.word()).arg("--kubeconfig").arg(&arguments.kubeconfig).kill_on_drop(true);
    if event.compress {
        command.arg("--compress");
    }
    let done = command.stderr(Stdio::inherit()).output().await;
    let done = done.map_err(|error| format!("{}: {error}", program.display()))?;
    if !done.status.success() {
        return Err(format!("{} ended with {}", program.display(), done.status).into());
    }
    let report: Report = String::from_utf8_lossy(&done.stdout).parse()?;
    match event.job == Job::Gets || report.objects == arguments.pods {
        true => Ok(report),
        false => Err(format!("not all pods were listed: {report}").into()),
    }
}
