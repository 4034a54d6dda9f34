//! Question: how late are updates if many browser tabs show the same pods? How much does an idle stream cost?
//!
//! Workload: 2,000 pods, 200 streams with a row for each of them, 500 updates per second for ten seconds. An update carries
//! the time before it was sent to the API server; its lateness is the time from then until a reader has received the row.
//! CPU time and memory are those of the service. Not counted: the first list, the API server, the readers. With `--idle
//! STREAMS`, opens that many streams of a few pods instead, and reports the memory per stream and the idle CPU time.
//!
//! ```text
//! cargo build --release -p watchkeeper-cli && cargo run --release -p watchkeeper-bench --bin streams
//! ```

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use watchkeeper_bench::client::Latency;
use watchkeeper_bench::informer::RunningPods;
use watchkeeper_bench::server::{Endpoint, Outcome, ServerProcess, Usage, resident_megabytes};
use watchkeeper_bench::stream::{Reader, Readers, StampedUpdates};
use watchkeeper_client::Client;
use watchkeeper_client::config::Config;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_web::Service;
use watchkeeper_web::listen::{Options, Server};

/// A subscription to all pods.
const ALL: &str = r#"{"id":"a","resource":"pods"}"#;
/// A subscription to a few pods, for idle streams.
const FEW: &str = r#"{"id":"a","resource":"pods","labelSelector":"shard=7"}"#;
/// Maximum time to wait for the last rows.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Measures the lateness of updates on many streams of the web service
#[derive(Parser)]
struct Arguments {
    /// Kubeconfig of the server [default: starts the embedded server, in memory]
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Runs the web service and prints its address
    #[arg(long, hide = true, requires = "kubeconfig")]
    serve: bool,
    /// Number of pods
    #[arg(long, default_value_t = 2_000)]
    pods: usize,
    /// Number of streams
    #[arg(long, default_value_t = 200)]
    streams: usize,
    /// Updates per second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Duration in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Measures this number of idle streams instead
    #[arg(long, value_name = "STREAMS")]
    idle: Option<usize>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.kubeconfig {
        Some(kubeconfig) if arguments.serve => serve(kubeconfig).await,
        _ => measure(&arguments).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the service until the parent process exits, which closes stdin.
async fn serve(kubeconfig: &Path) -> Outcome<()> {
    let config = Config::load(&Sources::File(kubeconfig.to_owned()), &Overrides::default())?;
    let service = Service::new(&Client::new(&config)?);
    service.start();
    service.catalog().watched("", "v1", "pods").await?;
    let server = Server::bind(&service, Options::default()).await?;
    println!("{}", server.address());
    std::io::stdout().flush()?;
    let (sender, stdin_closed) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new()); // a line, an error or the end: the parent is done
        drop(sender);
    });
    let stop = async {
        let _ = stdin_closed.await;
    };
    server.run(stop).await;
    service.stop().await;
    Ok(())
}

async fn measure(arguments: &Arguments) -> Outcome<()> {
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
    pods.create_all(&endpoint).await?;
    let (service, address) = start(&built, kubeconfig).await?;
    let pid = service.id().ok_or("the service exited")?;
    match arguments.idle {
        Some(streams) => idle(&address, pid, streams).await,
        None => busy(arguments, &endpoint, pods, &address, pid).await,
    }
}

/// Starts the service, and returns its process and address.
async fn start(built: &Path, kubeconfig: &Path) -> Outcome<(Child, String)> {
    let mut child = Command::new(built)
        .arg("--serve")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    let address = lines.next_line().await?.ok_or("the service exited")?;
    Ok((child, address))
}

async fn busy(
    arguments: &Arguments,
    endpoint: &Endpoint,
    pods: RunningPods,
    address: &str,
    pid: u32,
) -> Outcome<()> {
    let start = Instant::now();
    let first = Reader::open(address, ALL).await?;
    println!(
        "first stream: {} pods, {} bytes after {:.0} ms",
        pods.count(),
        first.bytes,
        start.elapsed().as_secs_f64() * 1e3
    );
    let mut readers = Readers::default();
    readers.add(first);
    for _ in 1..arguments.streams {
        readers.add(Reader::open(address, ALL).await?);
    }
    println!(
        "{} streams opened after {:.1} s, service memory {:.0} MB",
        arguments.streams,
        start.elapsed().as_secs_f64(),
        resident_megabytes(&[pid])?
    );
    let count = usize::try_from(arguments.rate * arguments.seconds)?;
    let (before, start) = (Usage::now(&[pid])?, Instant::now());
    StampedUpdates { pods, count, per_second: arguments.rate }.send(endpoint).await?;
    let wall = start.elapsed();
    let spent = Usage::now(&[pid])? - before;
    // A row that changes again before it is sent is sent once, so the number of rows is unknown: wait until no more
    // arrive.
    let (mut last, start) = (0, Instant::now());
    while readers.count() > last && start.elapsed() < DRAIN_TIMEOUT {
        last = readers.count();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let mut latencies = readers.stop().await;
    latencies.sort_unstable();
    let maximum = latencies.last().copied().unwrap_or_default();
    let rows = latencies.len();
    let late = Latency::of(latencies).ok_or("no rows arrived")?;
    let (rate, millis) = (count as f64 / wall.as_secs_f64(), |late: Duration| late.as_secs_f64() * 1e3);
    println!(
        "{count} updates, {rate:.0} per second; {rows} rows arrived; lateness p50 {:.1} ms, p99 {:.1} ms, maximum {:.1} ms",
        millis(late.p50),
        millis(late.p99),
        millis(maximum)
    );
    let (share, each) = (spent.server / wall.as_secs_f64(), spent.server * 1e6 / rows as f64);
    println!("service: {share:.2} CPUs, {each:.1} us per row, {:.0} MB", resident_megabytes(&[pid])?);
    Ok(())
}

async fn idle(address: &str, pid: u32, streams: usize) -> Outcome<()> {
    let mut open = vec![Reader::open(address, FEW).await?];
    let (before, start) = (resident_megabytes(&[pid])?, Instant::now());
    while open.len() <= streams {
        open.push(Reader::open(address, FEW).await?);
    }
    let opened = start.elapsed();
    let after = resident_megabytes(&[pid])?;
    let (spent, watched) = (Usage::now(&[pid])?, Duration::from_secs(30));
    tokio::time::sleep(watched).await;
    let spent = Usage::now(&[pid])? - spent;
    println!(
        "{streams} idle streams: {:.1} KB each, opened in {:.1} s; {:.0} s idle took {:.3} CPUs",
        (after - before) * 1e3 / streams as f64,
        opened.as_secs_f64(),
        watched.as_secs_f64(),
        spent.server / watched.as_secs_f64()
    );
    Ok(())
}
