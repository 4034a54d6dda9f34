//! Question: how much does it cost to cache and follow 20,000 pods?
//! Compares Watchkeeper's informer with client-go's and kube-rs's.
//!
//! Workload: one server with 20,000 pods with a status and managed fields, an index by node, and 10,000 updates at 400 per
//! second. Every informer runs in a new process; rounds alternate between them, and the table has the median of each.
//! Not counted: starting, creating the client, the server.
//!
//! ```text
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- informer
//! ```

use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use watchkeeper_bench::informer::{Column, Comparison, Report, RunningPods, Updates};
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::{Endpoint, ListForm, Outcome, ServerProcess, measure_list};

/// Time limit for one informer.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Compares Watchkeeper's informer with those of client-go and kube-rs
#[derive(Parser)]
struct Arguments {
    /// Kubeconfig of the server [default: starts the embedded server, in memory]
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// The server already has the pods of an earlier run
    #[arg(long)]
    populated: bool,
    /// The client-go program
    #[arg(long, value_name = "PATH")]
    client_go: Option<PathBuf>,
    /// The kube-rs program
    #[arg(long, value_name = "PATH")]
    kube_rs: Option<PathBuf>,
    /// Run only the informers whose names contain this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Number of pods
    #[arg(long, default_value_t = Pods::MANY)]
    pods: usize,
    /// Number of updates
    #[arg(long, default_value_t = 10_000)]
    events: usize,
    /// Updates per second
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Number of rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// An informer program and its arguments.
struct Runner {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

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
    let own = match arguments.kubeconfig {
        Some(_) => None,
        None => Some(ServerProcess::start(&built.with_file_name("watchkeeper")).await?),
    };
    let kubeconfig = match (&arguments.kubeconfig, &own) {
        (Some(path), _) => path,
        (None, Some(own)) => own.kubeconfig(),
        (None, None) => return Err("no server".into()),
    };
    let endpoint = Endpoint::read(kubeconfig)?;
    let pods = RunningPods::new(arguments.pods);
    if !arguments.populated {
        let start = Instant::now();
        pods.create_all(&endpoint).await?;
        eprintln!("created {} pods in {:.0} s", pods.count(), start.elapsed().as_secs_f64());
    }
    for form in [ListForm::Json, ListForm::Protobuf] {
        let size = measure_list(&endpoint, form).await?;
        let (bytes, kept) = (size.bytes / size.items.max(1), size.kept / size.items.max(1));
        println!("{} pods; mean size as {form:?}: {bytes} bytes, {kept} without managed fields", size.items);
    }
    let runners = runners(arguments, &built);
    let mut comparison = Comparison::new(&runners.iter().map(|runner| runner.name).collect::<Vec<_>>());
    for _ in 0..arguments.rounds {
        for (column, runner) in runners.iter().enumerate() {
            let run = run(runner, kubeconfig, &endpoint, arguments, pods);
            let reports = tokio::time::timeout(TIMEOUT, run).await;
            comparison.record(
                column,
                reports.map_err(|_| format!("{} timed out after {TIMEOUT:?}", runner.name))??,
            );
        }
        println!("{}", comparison.render()); // the rounds so far
    }
    Ok(())
}

fn runners(arguments: &Arguments, built: &Path) -> Vec<Runner> {
    let ours = built.with_file_name("informer");
    let mut runners = Vec::new();
    if let Some(program) = &arguments.client_go {
        let stripped = &["--drop-managed-fields"][..];
        for (name, arguments) in
            [(Column::CLIENT_GO, &[][..]), ("client-go without managed fields", stripped)]
        {
            runners.push(Runner { name, program: program.clone(), arguments });
        }
    }
    if let Some(program) = &arguments.kube_rs {
        runners.push(Runner { name: "kube-rs", program: program.clone(), arguments: &[] });
    }
    for (name, keep) in [(Column::ENCODED, "encoded"), (Column::DECODED, "decoded")] {
        let arguments: &[&str] =
            if keep == "encoded" { &["--keep", "encoded"] } else { &["--keep", "decoded"] };
        runners.push(Runner { name, program: ours.clone(), arguments });
    }
    runners.push(Runner { name: "read and discard", program: built.with_file_name("floor"), arguments: &[] });
    runners.retain(|runner| arguments.only.as_ref().is_none_or(|only| runner.name.contains(&**only)));
    runners
}

/// Runs an informer, and sends the updates that it waits for once it has reported `steady`.
async fn run(
    runner: &Runner,
    kubeconfig: &Path,
    endpoint: &Endpoint,
    arguments: &Arguments,
    pods: RunningPods,
) -> Outcome<Vec<Report>> {
    let mut child = Command::new(&runner.program)
        .args(runner.arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--events", &arguments.events.to_string(), "--select", RunningPods::SELECTED])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{}: {error}", runner.program.display()))?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    let mut reports = Vec::new();
    while let Some(line) = lines.next_line().await? {
        eprintln!("{}: {line}", runner.name);
        let report: Report = line.parse()?;
        reports.push(report);
        match report {
            Report::Sync(sync) if sync.objects != pods.count() => {
                return Err(format!("{} has {} of {} pods", runner.name, sync.objects, pods.count()).into());
            }
            Report::Steady(_) => {
                let (count, per_second) = (arguments.events, arguments.rate);
                Updates { pods, count, per_second }.send(endpoint).await?; // informer.I2
            }
            Report::Select(selected) if selected.objects != pods.selected() => {
                return Err(format!(
                    "{} selected {} of {} pods",
                    runner.name,
                    selected.objects,
                    pods.selected()
                )
                .into());
            }
            _ => {}
        }
    }
    let status = child.wait().await?;
    match status.success() {
        true => Ok(reports),
        false => Err(format!("{} exited with {status}", runner.name).into()),
    }
}
