//! Question: how much does an API server cost?
//! Compares Watchkeeper's server with another one, such as kube-apiserver with etcd, on the same machine and with the
//! same load generator.
//!
//! Workload: starts; 20,000 pods without managed fields, created and then listed with one request as JSON and as
//! protobuf; config maps of a kilobyte, created by 32 workers on four connections; one writer of a config
//! map of a kilobyte with 1,000 watchers, fifty streams on each of twenty connections. All requests use TLS and
//! HTTP/2 on loopback, with a bearer token and without compression. Rounds alternate between the servers, and the
//! table has the best of each. Memory is resident memory, five seconds after the last request. Not counted:
//! generating the pods, connecting, opening the watches.
//!
//! ```text
//! cargo build --release -p watchkeeper-cli && cargo run --release -p watchkeeper-bench --bin server
//! cargo run --manifest-path oracle/Cargo.toml --bin bench
//! ```
//!
//! The first command measures Watchkeeper's server alone. The second one also starts kube-apiserver and compares them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use watchkeeper_bench::pods::Pods;
use watchkeeper_bench::server::{
    Comparison, Connection, Creates, Endpoint, FanOut, Goal, ListForm, Outcome, Population, ServerProcess,
    Usage, check_list, create_namespace, resident_megabytes, time_list,
};

/// Time limit for the whole run.
const TIMEOUT: Duration = Duration::from_secs(450);
/// Number of starts of our server.
const STARTS: usize = 9;
/// Number of lists per encoding, after the first one.
const LISTS: usize = 5;
/// Number of rounds of creates and of fan-out.
const ROUNDS: usize = 3;
/// Idle time before the memory is read.
const SETTLE: Duration = Duration::from_secs(5);
const CREATES: Creates = Creates { connections: 4, workers: 8, duration: Duration::from_secs(5) };
const FAN_OUT: FanOut = FanOut { connections: 20, watches: 50, window: 8, duration: Duration::from_secs(5) };

/// Measures Watchkeeper's API server, and optionally compares it with another one
#[derive(Parser)]
struct Arguments {
    /// Our command [default: `watchkeeper` beside this executable]
    #[arg(long, value_name = "PATH")]
    watchkeeper: Option<PathBuf>,
    /// Kubeconfig of the other server, freshly started on this machine
    #[arg(long, value_name = "PATH", requires_all = ["peer_pids", "peer_start_ms"])]
    peer_kubeconfig: Option<PathBuf>,
    /// Process IDs of the other server, for its memory and CPU time
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    peer_pids: Vec<u32>,
    /// Time from the start of the other server until it was ready
    #[arg(long, value_name = "MS")]
    peer_start_ms: Option<f64>,
    /// Name of the other server in the table
    #[arg(long, default_value = "kube-apiserver and etcd")]
    peer_name: String,
    /// Number of pods
    #[arg(long, default_value_t = Pods::MANY)]
    pods: usize,
}

/// A server under load.
struct Subject {
    endpoint: Endpoint,
    pids: Vec<u32>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut table = Comparison::new(&arguments.peer_name, "Watchkeeper");
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(TIMEOUT, compare(&arguments, &mut table)) => outcome,
        _ = tokio::signal::ctrl_c() => return ExitCode::FAILURE,
    };
    println!("{}", table.render()); // the rows so far, even after an error
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

async fn compare(arguments: &Arguments, table: &mut Comparison) -> Outcome<()> {
    let command = match &arguments.watchkeeper {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("watchkeeper"),
    };
    let mut started = Vec::new();
    let mut server = ServerProcess::start(&command).await?;
    for _ in 1..STARTS {
        started.push(server.ready_after);
        server = ServerProcess::start(&command).await?;
    }
    started.push(server.ready_after);
    started.sort();
    let median = started[STARTS / 2].as_secs_f64() * 1e3;
    table.row("start to ready, ms", arguments.peer_start_ms, median, Goal::AtMost(100.0));

    let ours = Subject { endpoint: server.endpoint()?, pids: vec![server.pid()] };
    let peer = match &arguments.peer_kubeconfig {
        Some(path) => Some(Subject { endpoint: Endpoint::read(path)?, pids: arguments.peer_pids.clone() }),
        None => None,
    };
    let bench = Bench { ours, peer };
    bench.memory(table, "memory when idle, MB", Goal::AtMost(30.0)).await?;
    bench.populate(table, arguments.pods).await?;
    bench.memory(table, "memory with the pods, MB", Goal::TimesLess(8.0)).await?;
    bench.list(table, ListForm::Json, arguments.pods).await?;
    bench.list(table, ListForm::Protobuf, arguments.pods).await?;
    bench.create(table).await?;
    bench.fan_out(table).await?;
    bench.memory(table, "memory at the end, MB", Goal::None).await?;
    Ok(())
}

/// The servers to compare.
struct Bench {
    ours: Subject,
    peer: Option<Subject>,
}

/// The best round of a server: its value, and its CPU time with the number of units.
#[derive(Clone, Copy)]
struct Best {
    value: f64,
    cost: (Usage, f64),
}

impl Bench {
    /// Returns both servers, ours last.
    fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.peer.iter().chain([&self.ours])
    }

    async fn memory(&self, table: &mut Comparison, what: &str, goal: Goal) -> Outcome<()> {
        tokio::time::sleep(SETTLE).await;
        let peer = self.peer.as_ref().map(|peer| resident_megabytes(&peer.pids)).transpose()?;
        table.row(what, peer, resident_megabytes(&self.ours.pids)?, goal);
        Ok(())
    }

    async fn populate(&self, table: &mut Comparison, pods: usize) -> Outcome<()> {
        let population = Arc::new(Population::new(pods)?);
        eprintln!("creating {pods} pods of {} bytes of JSON", population.mean_bytes());
        let mut costs = Vec::new();
        for subject in self.subjects() {
            let before = Usage::now(&subject.pids)?;
            let start = Instant::now();
            population.create_all(&subject.endpoint).await?;
            costs.push((Usage::now(&subject.pids)? - before, pods as f64));
            eprintln!("created and updated in {:.1} s", start.elapsed().as_secs_f64());
        }
        let ours = costs.pop().ok_or("no result for our server")?;
        table.cost("create and update a pod", costs.pop(), ours);
        Ok(())
    }

    async fn list(&self, table: &mut Comparison, form: ListForm, pods: usize) -> Outcome<()> {
        let mut first = Vec::new();
        for subject in self.subjects() {
            let (time, _) = time_list(&subject.endpoint, form).await?;
            first.push(time.as_secs_f64() * 1e3);
            let bytes = check_list(&subject.endpoint, form, pods).await?;
            eprintln!("mean size of a pod as {form:?}: {bytes} bytes");
        }
        let ours = first.pop().ok_or("no result for our server")?;
        let what = format!("list {pods} pods as {form:?} for the first time, ms");
        table.row(&what, first.pop(), ours, Goal::TimesLess(3.0));
        let (peer, ours) = self
            .rounds(LISTS, async |subject, _| {
                let (time, _) = time_list(&subject.endpoint, form).await?;
                Ok((-time.as_secs_f64() * 1e3, pods as f64))
            })
            .await?;
        let what = format!("list {pods} pods as {form:?} again, ms");
        table.row(&what, peer.map(|best| -best.value), -ours.value, Goal::TimesLess(3.0));
        table.cost(&format!("list a pod as {form:?}"), peer.map(|best| best.cost), ours.cost);
        Ok(())
    }

    async fn create(&self, table: &mut Comparison) -> Outcome<()> {
        for subject in self.subjects() {
            create_namespace(&Connection::open(&subject.endpoint).await?, "creates").await?;
        }
        let (peer, ours) = self
            .rounds(ROUNDS, async |subject, round| {
                let (created, time) = CREATES.run(&subject.endpoint, "creates", round).await?;
                Ok((created as f64 / time.as_secs_f64(), created as f64))
            })
            .await?;
        table.row("config maps created/s", peer.map(|best| best.value), ours.value, Goal::TimesMore(5.0));
        table.cost("create a config map", peer.map(|best| best.cost), ours.cost);
        Ok(())
    }

    async fn fan_out(&self, table: &mut Comparison) -> Outcome<()> {
        for subject in self.subjects() {
            create_namespace(&Connection::open(&subject.endpoint).await?, "fan-out").await?;
            FAN_OUT.prepare(&subject.endpoint, "fan-out").await?;
        }
        let (peer, ours) = self
            .rounds(ROUNDS, async |subject, round| {
                let (events, time) = FAN_OUT.run(&subject.endpoint, "fan-out", round).await?;
                Ok((events as f64 / time.as_secs_f64(), events as f64))
            })
            .await?;
        let what = format!("events/s to {} watchers", FAN_OUT.watchers());
        table.row(&what, peer.map(|best| best.value), ours.value, Goal::TimesMore(5.0));
        table.cost("an event to a watcher", peer.map(|best| best.cost), ours.cost);
        Ok(())
    }

    /// Runs a load on each server in turn, and returns the round with the largest value for each.
    async fn rounds(
        &self,
        rounds: usize,
        mut load: impl AsyncFnMut(&Subject, usize) -> Outcome<(f64, f64)>,
    ) -> Outcome<(Option<Best>, Best)> {
        let (mut peer, mut ours) = (None, None);
        for round in 0..rounds {
            for (subject, best) in [(self.peer.as_ref(), &mut peer), (Some(&self.ours), &mut ours)] {
                let Some(subject) = subject else { continue };
                let before = Usage::now(&subject.pids)?;
                let (value, units) = load(subject, round).await?;
                let found = Best { value, cost: (Usage::now(&subject.pids)? - before, units) };
                if best.is_none_or(|best: Best| best.value < value) {
                    *best = Some(found);
                }
            }
        }
        Ok((peer, ours.ok_or("no rounds were run")?))
    }
}
