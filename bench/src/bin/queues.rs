//! Question: how much does a key cost on its way through a work queue, and how late is it?
//! Compares Watchkeeper's queue with client-go's and with kube-rs's scheduler.
//!
//! Workload: 1,000,000 keys that are added, taken and marked done, by one worker and by eight; 100,000 keys with
//! delays of up to a second; 4,000 config maps created on the embedded server at 400 per second, each of which
//! reaches a worker. Every job runs in a new process; rounds alternate between the queues, and the table has the median
//! of each. Not counted: starting, creating the keys.
//!
//! ```text
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- queue
//! ```

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use clap::Parser;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use watchkeeper_bench::queue::{Comparison, Job, READY, Report, Writes};
use watchkeeper_bench::server::{Outcome, ServerProcess};

/// Time limit for one job.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Compares Watchkeeper's queue with those of client-go and kube-rs
#[derive(Parser)]
struct Arguments {
    /// The client-go program
    #[arg(long, value_name = "PATH")]
    client_go: Option<PathBuf>,
    /// The kube-rs program
    #[arg(long, value_name = "PATH")]
    kube_rs: Option<PathBuf>,
    /// Number of rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// A job, and its label and goal in the table.
struct Case {
    what: &'static str,
    job: Job,
    keys: usize,
    workers: usize,
    /// Largest acceptable multiple of the first queue's elapsed time.
    goal: Option<f64>,
}

const CASES: [Case; 4] = [
    Case {
        what: "hand out, one worker",
        job: Job::HandOut,
        keys: 1_000_000,
        workers: 1,
        goal: Some(1.0 / 3.0),
    },
    Case {
        what: "hand out, 8 workers",
        job: Job::HandOut,
        keys: 1_000_000,
        workers: 8,
        goal: Some(1.0 / 3.0),
    },
    Case { what: "delay", job: Job::Delay, keys: 100_000, workers: 1, goal: None },
    Case { what: "from a write to a worker", job: Job::Follow, keys: 4_000, workers: 1, goal: None },
];

/// Writes per second.
const RATE: u32 = 400;

#[tokio::main]
async fn main() -> ExitCode {
    match compare(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(arguments: &Arguments) -> Outcome<()> {
    let built = std::env::current_exe()?;
    let programs: Vec<(&str, PathBuf)> = [
        ("client-go", arguments.client_go.clone()),
        ("kube-rs", arguments.kube_rs.clone()),
        ("Watchkeeper", Some(built.with_file_name("queue"))),
    ]
    .into_iter()
    .filter_map(|(name, program)| Some((name, program?)))
    .collect();
    let server = built.with_file_name("watchkeeper");
    let mut comparison = Comparison::new(&programs.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for case in CASES {
        let mut rounds = vec![Vec::new(); programs.len()];
        for _ in 0..arguments.rounds {
            for ((name, program), reports) in programs.iter().zip(&mut rounds) {
                let report = tokio::time::timeout(TIMEOUT, run(program, &server, &case)).await;
                let report = report.map_err(|_| format!("{name} timed out after {TIMEOUT:?}"))??;
                eprintln!("{report}");
                reports.push(report);
            }
        }
        comparison.job(case.what, &rounds, case.goal.map(|most| (0, most)));
    }
    println!("{}", comparison.render());
    Ok(())
}

/// Runs a job, with a new server if it needs one.
async fn run(program: &Path, server: &Path, case: &Case) -> Outcome<Report> {
    let server = match case.job {
        Job::Follow => Some(ServerProcess::start(server).await?),
        Job::HandOut | Job::Delay => None,
    };
    let mut command = Command::new(program);
    command
        .arg(case.job.name())
        .args(["--keys", &case.keys.to_string(), "--workers", &case.workers.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    if let Some(server) = &server {
        command.arg("--kubeconfig").arg(server.kubeconfig());
    }
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", program.display()))?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    let mut report = None;
    while let Some(line) = lines.next_line().await? {
        match &server {
            Some(server) if line == READY => {
                Writes { count: case.keys, per_second: RATE }.send(&server.endpoint()?).await?; // queue.Q3
            }
            _ => report = Some(line.parse()?),
        }
    }
    let status = child.wait().await?;
    match report.filter(|_| status.success()) {
        Some(report) => Ok(report),
        None => Err(format!("{} exited with {status}", program.display()).into()),
    }
}
