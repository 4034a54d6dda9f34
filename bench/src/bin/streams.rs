//! How late is the news, when many tabs show the same pods? And what does a tab cost that shows nothing new?
//!
//! Workload: 2,000 pods, 200 streams of all of them as rows, 500 changes a second for ten seconds. A change carries the
//! moment before it was sent to the API server; it is late by the time until a reader has its row. Counted: the service's
//! processor time. Not counted: the first list, the API server, the readers. With `--idle`, so many streams of ten pods
//! are opened instead, and what the service grows by is divided among them.
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
use watchkeeper_bench::server::{Endpoint, Outcome, OwnServer, Usage, resident_megabytes};
use watchkeeper_bench::stream::{Reader, Readers, Stamps};
use watchkeeper_client::Client;
use watchkeeper_client::config::Config;
use watchkeeper_client::kubeconfig::{Overrides, Sources};
use watchkeeper_web::Service;
use watchkeeper_web::listen::{Options, Server};

/// What all tabs show.
const ALL: &str = r#"{"id":"a","resource":"pods"}"#;
/// What an idle one shows.
const FEW: &str = r#"{"id":"a","resource":"pods","labelSelector":"shard=7"}"#;
/// How late the last news may be.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures how late the news is that many streams carry
#[derive(Parser)]
struct Arguments {
    /// The server; by default one of ours, in memory, that ends with this
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Only serves what the server has, and prints where
    #[arg(long, hide = true, requires = "kubeconfig")]
    serve: bool,
    /// How many pods
    #[arg(long, default_value_t = 2_000)]
    pods: usize,
    /// How many streams
    #[arg(long, default_value_t = 200)]
    streams: usize,
    /// How many changes a second
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// For how many seconds
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Opens so many streams to which nothing happens, and measures what they take
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

/// The service, in a process of its own. It ends when the one does that has started it.
async fn serve(kubeconfig: &Path) -> Outcome<()> {
    let config = Config::load(&Sources::File(kubeconfig.to_owned()), &Overrides::default())?;
    let service = Service::new(&Client::new(&config)?);
    service.start();
    service.catalog().watched("", "v1", "pods").await?;
    let server = Server::bind(&service, Options::default()).await?;
    println!("{}", server.address());
    std::io::stdout().flush()?;
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_line(&mut String::new()); // whatever it is, it is the end
        drop(tell);
    });
    let gone = async {
        let _ = told.await;
    };
    server.run(gone).await;
    service.stop().await;
    Ok(())
}

async fn measure(arguments: &Arguments) -> Outcome<()> {
    let built = std::env::current_exe()?;
    let own = match arguments.kubeconfig {
        Some(_) => None,
        None => Some(OwnServer::start(&built.with_file_name("watchkeeper")).await?),
    };
    let kubeconfig = match (&arguments.kubeconfig, &own) {
        (Some(path), _) => path,
        (None, Some(own)) => own.kubeconfig(),
        (None, None) => return Err("there is no server".into()),
    };
    let endpoint = Endpoint::read(kubeconfig)?;
    let pods = RunningPods::new(arguments.pods);
    pods.settle(&endpoint).await?;
    let (service, address) = start(&built, kubeconfig).await?;
    let pid = service.id().ok_or("the service has ended")?;
    match arguments.idle {
        Some(streams) => idle(&address, pid, streams).await,
        None => busy(arguments, &endpoint, pods, &address, pid).await,
    }
}

/// The service, and where it listens.
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
    let address = lines.next_line().await?.ok_or("the service has ended")?;
    Ok((child, address))
}

async fn busy(
    arguments: &Arguments,
    endpoint: &Endpoint,
    pods: RunningPods,
    address: &str,
    pid: u32,
) -> Outcome<()> {
    let begun = Instant::now();
    let first = Reader::open(address, ALL).await?;
    println!(
        "the first stream has {} pods, {} bytes, after {:.0} ms",
        pods.count(),
        first.bytes,
        begun.elapsed().as_secs_f64() * 1e3
    );
    let mut readers = Readers::default();
    readers.add(first);
    for _ in 1..arguments.streams {
        readers.add(Reader::open(address, ALL).await?);
    }
    println!(
        "{} streams after {:.1} s, {:.0} MB",
        arguments.streams,
        begun.elapsed().as_secs_f64(),
        resident_megabytes(&[pid])?
    );
    let count = usize::try_from(arguments.rate * arguments.seconds)?;
    let (before, begun) = (Usage::now(&[pid])?, Instant::now());
    Stamps { pods, count, per_second: arguments.rate }.send(endpoint).await?;
    let wall = begun.elapsed();
    let spent = Usage::now(&[pid])? - before;
    // Rows that change again before they are sent are sent once: wait until nothing comes any more.
    let (mut last, begun) = (0, Instant::now());
    while readers.count() > last && begun.elapsed() < PATIENCE {
        last = readers.count();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let mut lags = readers.stop().await;
    lags.sort_unstable();
    let latest = lags.last().copied().unwrap_or_default();
    let rows = lags.len();
    let late = Latency::of(lags).ok_or("no news")?;
    let (rate, millis) = (count as f64 / wall.as_secs_f64(), |late: Duration| late.as_secs_f64() * 1e3);
    println!(
        "{count} changes, {rate:.0} a second; {rows} rows arrived; late by p50 {:.1} ms, p99 {:.1} ms, at most {:.1} ms",
        millis(late.p50),
        millis(late.p99),
        millis(latest)
    );
    let (share, each) = (spent.server / wall.as_secs_f64(), spent.server * 1e6 / rows as f64);
    println!(
        "the service took {share:.2} processors, {each:.1} us a row; {:.0} MB",
        resident_megabytes(&[pid])?
    );
    Ok(())
}

async fn idle(address: &str, pid: u32, streams: usize) -> Outcome<()> {
    let mut open = vec![Reader::open(address, FEW).await?];
    let (before, begun) = (resident_megabytes(&[pid])?, Instant::now());
    while open.len() <= streams {
        open.push(Reader::open(address, FEW).await?);
    }
    let opened = begun.elapsed();
    let after = resident_megabytes(&[pid])?;
    let (spent, watched) = (Usage::now(&[pid])?, Duration::from_secs(30));
    tokio::time::sleep(watched).await;
    let spent = Usage::now(&[pid])? - spent;
    println!(
        "{streams} idle streams: {:.1} KB each, opened in {:.1} s; in {:.0} s they took {:.3} processors",
        (after - before) * 1e3 / streams as f64,
        opened.as_secs_f64(),
        watched.as_secs_f64(),
        spent.server / watched.as_secs_f64()
    );
    Ok(())
}
