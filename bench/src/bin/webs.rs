//! What does an answer from the cache cost? Watchkeeper's service beside one that is made of client-go's informer and
//! encoding/json, at one server with 20,000 pods.
//!
//! Workload: a namespace of 400 pods, and ten pods by a label out of all, each asked for over eight connections that
//! wait for their answers. Both services follow the same server, in processes of their own; rounds alternate between
//! them and the median of each counts.
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
use watchkeeper_bench::server::{Comparison, Goal, Outcome, OwnServer, Usage, resident_megabytes};
use watchkeeper_bench::web::{Answered, Question, Served};

/// Measures Watchkeeper's web service beside one of client-go and encoding/json
#[derive(Parser)]
struct Arguments {
    /// The program around client-go
    #[arg(long, value_name = "PATH")]
    client_go: Option<PathBuf>,
    /// How many connections ask
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// For how many seconds, each time
    #[arg(long, default_value_t = 4)]
    seconds: u64,
    /// How many rounds
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// What is asked, and how many times as many answers are hoped for.
const QUESTIONS: [(&str, Question, f64); 2] = [
    (
        "a namespace of 400 pods, answers/s",
        Question { path: "/pods/core/v1?namespace=team-007", objects: 400 },
        5.0,
    ),
    (
        "10 pods by label of 20,000, answers/s",
        Question { path: "/pods/core/v1?labelSelector=shard%3D7", objects: 10 },
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
    let server = OwnServer::start(&command).await?;
    let begun = Instant::now();
    RunningPods::new(Pods::MANY).settle(&server.endpoint()?).await?;
    eprintln!("created {} pods in {:.0} s", Pods::MANY, begun.elapsed().as_secs_f64());

    let ours = Served::start(&command, &["serve", "--listen", "127.0.0.1:0"], server.kubeconfig()).await?;
    let other = match &arguments.client_go {
        Some(program) => Some(Served::start(program, &[], server.kubeconfig()).await?),
        None => None,
    };
    let mut table = Comparison::new("client-go", "Watchkeeper");
    for (what, question, times) in QUESTIONS {
        let (mut theirs, mut own) = (Vec::new(), Vec::new());
        for _ in 0..arguments.rounds {
            let lasts = Duration::from_secs(arguments.seconds);
            if let Some(other) = &other {
                theirs.push(question.ask(other, arguments.connections, lasts).await?);
            }
            own.push(question.ask(&ours, arguments.connections, lasts).await?);
        }
        let (theirs, own) = (median(theirs), median(own).ok_or("no round")?);
        eprintln!("{what}: {} bytes an answer", own.bytes);
        table.row(what, theirs.map(|answered| answered.rate()), own.rate(), Goal::TimesMore(times));
        let cost = |answered: Answered| -> (Usage, f64) { (answered.usage, answered.answers as f64) };
        table.cost(&what.replace("answers/s", "an answer"), theirs.map(cost), cost(own));
    }
    let theirs = match &other {
        Some(other) => Some(resident_megabytes(&[other.pid()])?),
        None => None,
    };
    table.row("resident memory after it, MB", theirs, resident_megabytes(&[ours.pid()])?, Goal::None);
    println!("{}", table.render());
    Ok(())
}

/// The one in the middle, by its rate.
fn median(mut rounds: Vec<Answered>) -> Option<Answered> {
    rounds.sort_by(|one, other| one.rate().total_cmp(&other.rate()));
    rounds.get(rounds.len() / 2).copied()
}
