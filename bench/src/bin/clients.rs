//! Question: how much does a request cost the client?
//! Compares Watchkeeper's client with client-go and kube-client.
//!
//! Workload: one running server with 20,000 pods without managed fields, listed with one request, undecoded and decoded;
//! 10,000 gets of config maps of a kilobyte by 32 workers. Every job runs in a new process; rounds alternate between the
//! clients, and the table has the best of each. Not counted: starting, connecting, freeing the results.
//!
//! ```text
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- client
//! ```

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::process::Command;
use watchkeeper_bench::client::{Comparison, Job, Report, populate};
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::{Endpoint, ListForm, Outcome, check_list};

/// Time limit for the whole run.
const TIMEOUT: Duration = Duration::from_secs(900);

/// Compares Watchkeeper's client with client-go and kube-client
#[derive(Parser)]
struct Arguments {
    /// Kubeconfig of the server, which must be empty unless --populated is given
    #[arg(long, value_name = "PATH")]
    kubeconfig: PathBuf,
    /// The server already has the objects of an earlier run
    #[arg(long)]
    populated: bool,
    /// The client-go program
    #[arg(long, value_name = "PATH")]
    client_go: PathBuf,
    /// The kube-client program
    #[arg(long, value_name = "PATH")]
    kube_client: PathBuf,
    /// Our program [default: `client` beside this executable]
    #[arg(long, value_name = "PATH")]
    watchkeeper: Option<PathBuf>,
    /// Number of pods
    #[arg(long, default_value_t = Pods::MANY)]
    pods: usize,
    /// Number of rounds
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

/// A job, and its label and goal in the table.
struct Case {
    what: &'static str,
    job: Job,
    compress: bool,
    goal: Option<(&'static str, f64)>,
}

const CASES: [Case; 5] = [
    Case {
        what: "list as protobuf, undecoded",
        job: Job::ListRaw,
        compress: false,
        goal: Some((CLIENT_GO, 0.5)),
    },
    Case {
        what: "list as JSON, undecoded",
        job: Job::ListRawJson,
        compress: false,
        goal: Some((CLIENT_GO, 0.5)),
    },
    Case { what: "list, decoded", job: Job::ListTyped, compress: false, goal: Some((CLIENT_GO, 0.5)) },
    Case { what: "list, compressed, decoded", job: Job::ListTyped, compress: true, goal: None },
    Case { what: "10,000 gets", job: Job::Gets, compress: false, goal: Some((KUBE_CLIENT, 0.7)) },
];

const CLIENT_GO: &str = "client-go";
const KUBE_CLIENT: &str = "kube-client";
const NAMES: [&str; 3] = [CLIENT_GO, KUBE_CLIENT, "Watchkeeper"];

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut comparison = Comparison::new(&NAMES);
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(TIMEOUT, compare(&arguments, &mut comparison)) => outcome,
        _ = tokio::signal::ctrl_c() => return ExitCode::FAILURE,
    };
    println!("{}", comparison.render()); // the rows so far, even after an error
    match outcome {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("error: timed out after {TIMEOUT:?}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(arguments: &Arguments, comparison: &mut Comparison) -> Outcome<()> {
    let ours = match &arguments.watchkeeper {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("client"),
    };
    let programs = [&arguments.client_go, &arguments.kube_client, &ours];
    let endpoint = Endpoint::read(&arguments.kubeconfig)?;
    if !arguments.populated {
        let start = Instant::now();
        populate(&endpoint, arguments.pods).await?;
        eprintln!("created {} pods in {:.0} s", arguments.pods, start.elapsed().as_secs_f64());
    }
    for form in [ListForm::Json, ListForm::Protobuf] {
        let bytes = check_list(&endpoint, form, arguments.pods).await?;
        eprintln!("mean size of a pod as {form:?}: {bytes} bytes");
    }
    for case in CASES {
        let mut rounds = vec![Vec::new(); programs.len()];
        for _ in 0..arguments.rounds {
            for (position, program) in programs.into_iter().enumerate() {
                if case.compress && NAMES[position] == KUBE_CLIENT {
                    continue; // not supported with its default features
                }
                let report = run(program, &case, arguments).await?;
                eprintln!("{report}");
                rounds[position].push(report);
            }
        }
        comparison.job(case.what, &rounds, case.goal);
    }
    Ok(())
}

async fn run(program: &PathBuf, case: &Case, arguments: &Arguments) -> Outcome<Report> {
    let mut command = Command::new(program);
    command.arg(case.job.name()).arg("--kubeconfig").arg(&arguments.kubeconfig).kill_on_drop(true);
    if case.compress {
        command.arg("--compress");
    }
    let done = command.stderr(Stdio::inherit()).output().await;
    let done = done.map_err(|error| format!("{}: {error}", program.display()))?;
    if !done.status.success() {
        return Err(format!("{} exited with {}", program.display(), done.status).into());
    }
    let report: Report = String::from_utf8_lossy(&done.stdout).parse()?;
    match case.job == Job::Gets || report.objects == arguments.pods {
        true => Ok(report),
        false => Err(format!("incomplete list: {report}").into()),
    }
}
