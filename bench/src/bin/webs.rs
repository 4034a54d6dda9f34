//! Question: how many requests per second can be served from the cache?
//! Compares Watchkeeper's web service with a program that uses client-go's informer and encoding/json.
//!
//! Workload: one server with 20,000 pods; lists of a namespace with 400 pods, and of ten pods by label, on eight connections
//! that each wait for the response before the next request. Both services follow the same server in separate processes;
//! rounds alternate between them, and the table has the median of each. Not counted: starting the services, filling their
//! caches, connecting.
//!
//! ```text
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- web
//! ```

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use watchkeeper_bench::informer::RunningPods;
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::{Comparison, Goal, Outcome, ServerProcess, Usage, resident_megabytes};
use watchkeeper_bench::web::{Measurement, Query, ServiceProcess};

/// Compares Watchkeeper's web service with a program that uses client-go and encoding/json
#[derive(Parser)]
struct Arguments {
    /// The client-go program
    #[arg(long, value_name = "PATH")]
    client_go: Option<PathBuf>,
    /// Number of connections
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Duration of a round in seconds
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// Number of rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Label in the table, request, and goal: the multiple of the peer's responses per second.
const QUERIES: [(&str, Query, f64); 2] = [
    (
        "a namespace of 400 pods, responses/s",
        Query { path: "/pods/core/v1?namespace=team-007", objects: 400 },
        5.0,
    ),
    (
        "10 of 20,000 pods by label, responses/s",
        Query { path: "/pods/core/v1?labelSelector=shard%3D7", objects: 10 },
        20.0,
    ),
];

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
    let command = std::env::current_exe()?.with_file_name("watchkeeper");
    let server = ServerProcess::start(&command).await?;
    let start = Instant::now();
    RunningPods::new(Pods::MANY).create_all(&server.endpoint()?).await?;
    eprintln!("created {} pods in {:.0} s", Pods::MANY, start.elapsed().as_secs_f64());

    let ours =
        ServiceProcess::start(&command, &["serve", "--listen", "127.0.0.1:0"], server.kubeconfig()).await?;
    let other = match &arguments.client_go {
        Some(program) => Some(ServiceProcess::start(program, &[], server.kubeconfig()).await?),
        None => None,
    };
    let mut table = Comparison::new("client-go", "Watchkeeper");
    for (what, query, times) in QUERIES {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        for _ in 0..arguments.rounds {
            let duration = Duration::from_secs(arguments.seconds);
            if let Some(other) = &other {
                theirs.push(query.measure(other, arguments.connections, duration).await?);
            }
            own.push(query.measure(&ours, arguments.connections, duration).await?);
        }
        let (theirs, own) = (median(theirs), median(own).ok_or("no rounds were run")?);
        eprintln!("{what}: {} bytes per response", own.bytes);
        table.row(what, theirs.map(|measurement| measurement.rate()), own.rate(), Goal::TimesMore(times));
        let cost =
            |measurement: Measurement| -> (Usage, f64) { (measurement.usage, measurement.responses as f64) };
        table.cost(&what.replace("responses/s", "a response"), theirs.map(cost), cost(own));
    }
    let theirs = match &other {
        Some(other) => Some(resident_megabytes(&[other.pid()])?),
        None => None,
    };
    table.row("resident memory at the end, MB", theirs, resident_megabytes(&[ours.pid()])?, Goal::None);
    println!("{}", table.render());
    Ok(())
}

/// Returns the round with the median rate.
fn median(mut rounds: Vec<Measurement>) -> Option<Measurement> {
    rounds.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
    rounds.get(rounds.len() / 2).copied()
}
