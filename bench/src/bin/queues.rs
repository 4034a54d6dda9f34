//! What does a queue cost? Watchkeeper's beside client-go's and what kube-rs has for one.
//!
//! Workload: 1,000,000 keys that are added, handed out and done, by one and by eight at once; 100,000 keys with
//! delays of up to a second; 4,000 config maps that are created on the embedded server, 400 a second, each of which
//! reaches a worker. Every job is a process of its own; rounds alternate between the queues and the median of each
//! counts. Not counted: starting, making the keys.
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
use watchkeeper_bench::queue::{Job, READY, Report, Standing, Writes};
use watchkeeper_bench::server::{Outcome, OwnServer};

/// How long one job may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures Watchkeeper's queue beside those of client-go and kube-rs
#[derive(Parser)]
struct Arguments {
    /// The program around client-go
    #[arg(long, value_name = "PATH")]
    client_go: Option<PathBuf>,
    /// The program around kube-rs
    #[arg(long, value_name = "PATH")]
    kube_rs: Option<PathBuf>,
    /// How many rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// A job as the table has it.
struct Event {
    what: &'static str,
    job: Job,
    keys: usize,
    workers: usize,
    /// Of the time: the first row.
    goal: Option<f64>,
}

const EVENTS: [Event; 4] = [
    Event {
        what: "hand out, one worker",
        job: Job::HandOut,
        keys: 1_000_000,
        workers: 1,
        goal: Some(1.0 / 3.0),
    },
    Event {
        what: "hand out, 8 workers",
        job: Job::HandOut,
        keys: 1_000_000,
        workers: 8,
        goal: Some(1.0 / 3.0),
    },
    Event { what: "delay", job: Job::Delay, keys: 100_000, workers: 1, goal: None },
    Event { what: "from a write to a worker", job: Job::Follow, keys: 4_000, workers: 1, goal: None },
];

/// How many writes a second.
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
    let mut standing = Standing::new(&programs.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for event in EVENTS {
        let mut rounds = vec![Vec::new(); programs.len()];
        for _ in 0..arguments.rounds {
            for ((name, program), reports) in programs.iter().zip(&mut rounds) {
                let report = tokio::time::timeout(PATIENCE, run(program, &server, &event)).await;
                let report = report.map_err(|_| format!("{name} takes too long"))??;
                eprintln!("{report}");
                reports.push(report);
            }
        }
        standing.job(event.what, &rounds, event.goal.map(|most| (0, most)));
    }
    println!("{}", standing.render());
    Ok(())
}

/// Does a job, at a server of its own if it wants one.
async fn run(program: &Path, server: &Path, event: &Event) -> Outcome<Report> {
    let server = match event.job {
        Job::Follow => Some(OwnServer::start(server).await?),
        Job::HandOut | Job::Delay => None,
    };
    let mut command = Command::new(program);
    command
        .arg(event.job.word())
        .args(["--keys", &event.keys.to_string(), "--workers", &event.workers.to_string()])
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
                Writes { count: event.keys, per_second: RATE }.send(&server.endpoint()?).await?; // J3
            }
            _ => report = Some(line.parse()?),
        }
    }
    let status = child.wait().await?;
    match report.filter(|_| status.success()) {
        Some(report) => Ok(report),
        None => Err(format!("{} ended with {status}", program.display()).into()),
    }
}
