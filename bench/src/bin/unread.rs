//! Question: how much memory do responses take that the client does not read, and is it returned?
//! Compares Watchkeeper's server with another one, such as kube-apiserver.
//!
//! Workload: 1,000 config maps of one kilobyte in one namespace, 1,000 of ten kilobytes in another. HTTP/2 streams with
//! a zero window request lists of them, or watches with initial events, so that the server can send response headers
//! only. Memory is resident memory: before, ten seconds after the last response headers, and one minute after the
//! connections have closed. Meanwhile the latency of `/readyz` is measured on separate connections. Not counted: etcd.
//!
//! ```text
//! cargo build --release -p watchkeeper-cli && cargo run --release -p watchkeeper-bench --bin unread
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- unread
//! ```
//!
//! The run fails if a server uses more than `--most-megabytes` of memory.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use http::{Method, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use watchkeeper_bench::server::{
    Connection, Endpoint, Outcome, ServerProcess, create_namespace, resident_megabytes,
};

/// Streams per connection, the maximum that our server allows.
const STREAMS: usize = 100;
/// Time under load before the memory is read.
const UNDER: Duration = Duration::from_secs(10);
/// Time after the load before the memory is read again.
const AFTER: Duration = Duration::from_secs(60);
/// Time limit for the response headers of a load.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(120);
/// Interval between checks of the memory limit.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Measures the memory that unread responses take in Watchkeeper's API server, and optionally in another one
#[derive(Parser)]
struct Arguments {
    /// Our command [default: `watchkeeper` beside this executable]
    #[arg(long, value_name = "PATH")]
    watchkeeper: Option<PathBuf>,
    /// Kubeconfig of the other server, on this machine
    #[arg(long, value_name = "PATH", requires = "peer_pid")]
    peer_kubeconfig: Option<PathBuf>,
    /// Process ID of the other server
    #[arg(long, value_name = "PID")]
    peer_pid: Option<u32>,
    /// Name of the other server in the table
    #[arg(long, default_value = "kube-apiserver")]
    peer_name: String,
    /// Also measures 1,000 lists and watches of 10 MB, with our server only
    #[arg(long)]
    large: bool,
    /// Memory limit of the servers, in MB
    #[arg(long, default_value_t = 4000.0)]
    most_megabytes: f64,
}

/// A server under load.
struct Subject {
    name: String,
    endpoint: Endpoint,
    pid: u32,
}

/// Requests whose responses are not read.
struct Load {
    name: &'static str,
    path: &'static str,
    streams: usize,
}

const SMALL: &str = "/api/v1/namespaces/small/configmaps";
const SMALL_WATCH: &str = "/api/v1/namespaces/small/configmaps?watch=true&sendInitialEvents=true\
    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const LARGE: &str = "/api/v1/namespaces/large/configmaps";
const LARGE_WATCH: &str = "/api/v1/namespaces/large/configmaps?watch=true&sendInitialEvents=true\
    &resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = tokio::select! {
        outcome = measure(&arguments) => outcome,
        _ = tokio::signal::ctrl_c() => return ExitCode::FAILURE,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: &Arguments) -> Outcome<()> {
    let command = match &arguments.watchkeeper {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("watchkeeper"),
    };
    println!(
        "| load | server | before, MB | under load, MB | peak, MB | a minute later, MB | slowest /readyz, ms |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    let small = [
        Load { name: "600 lists of 1 MB", path: SMALL, streams: 600 },
        Load { name: "600 watches of 1 MB", path: SMALL_WATCH, streams: 600 },
    ];
    let large = [
        Load { name: "1,000 lists of 10 MB", path: LARGE, streams: 1000 },
        Load { name: "1,000 watches of 10 MB", path: LARGE_WATCH, streams: 1000 },
    ];
    if let (Some(path), Some(pid)) = (&arguments.peer_kubeconfig, arguments.peer_pid) {
        let peer = Subject { name: arguments.peer_name.clone(), endpoint: Endpoint::read(path)?, pid };
        run(&peer, &small, arguments).await?;
    }
    let server = ServerProcess::start(&command).await?;
    let ours = Subject { name: "Watchkeeper".to_owned(), endpoint: server.endpoint()?, pid: server.pid() };
    run(&ours, &small, arguments).await?;
    if arguments.large {
        run(&ours, &large, arguments).await?;
    }
    Ok(())
}

async fn run(subject: &Subject, loads: &[Load], arguments: &Arguments) -> Outcome<()> {
    let bytes = if loads[0].path == LARGE { 10_000 } else { 1000 };
    let name = if bytes == 1000 { "small" } else { "large" };
    let connection = Connection::open(&subject.endpoint).await?;
    create_namespace(&connection, name).await?;
    for number in 0..1000 {
        let body = format!(
            r#"{{"metadata":{{"name":"c{number:04}","namespace":"{name}"}},"data":{{"text":"{}"}}}}"#,
            "x".repeat(bytes)
        );
        let path = format!("/api/v1/namespaces/{name}/configmaps");
        connection.exchange(Method::POST, &path, Bytes::from(body), StatusCode::CREATED).await?;
    }
    drop(connection);
    for load in loads {
        sleep(UNDER).await;
        let before = resident_megabytes(&[subject.pid])?;
        let unread = tokio::select! {
            unread = timeout(HEADERS_TIMEOUT, open_streams(subject, load)) => {
                unread.map_err(|_| format!("response headers timed out after {HEADERS_TIMEOUT:?}"))??
            },
            error = watch_memory(subject.pid, arguments.most_megabytes) => return Err(error),
        };
        let (ready, most) = tokio::select! {
            observed = observe(subject) => observed?,
            error = watch_memory(subject.pid, arguments.most_megabytes) => return Err(error),
        };
        let under = resident_megabytes(&[subject.pid])?;
        drop(unread);
        sleep(AFTER).await;
        let after = resident_megabytes(&[subject.pid])?;
        let (load, name, ready) = (load.name, &subject.name, ready.as_secs_f64() * 1e3);
        println!("| {load} | {name} | {before:.1} | {under:.1} | {most:.1} | {after:.1} | {ready:.1} |");
    }
    Ok(())
}

/// Opens streams with a zero window, and returns once the headers of all responses have arrived.
async fn open_streams(subject: &Subject, load: &Load) -> Outcome<Vec<http::Response<hyper::body::Incoming>>> {
    let mut responses = JoinSet::new();
    for _ in 0..load.streams / STREAMS {
        let connection = Connection::open_with_window(&subject.endpoint, 0).await?;
        for _ in 0..STREAMS {
            let (connection, path) = (connection.clone(), load.path);
            responses.spawn(async move {
                connection.send(Method::GET, path, "application/json", Bytes::new()).await
            });
        }
    }
    let mut unread = Vec::new();
    while let Some(response) = responses.join_next().await {
        let response = response??;
        if response.status() != StatusCode::OK {
            return Err(format!("{}: {}", load.name, response.status()).into());
        }
        unread.push(response);
    }
    Ok(unread)
}

/// For ten seconds, measures the slowest response of `/readyz` and the peak of the resident memory.
async fn observe(subject: &Subject) -> Outcome<(Duration, f64)> {
    let (start, mut longest, mut most) = (Instant::now(), Duration::ZERO, 0.0_f64);
    while start.elapsed() < UNDER {
        let sent = Instant::now();
        let connection = Connection::open(&subject.endpoint).await?;
        connection.exchange(Method::GET, "/readyz", Bytes::new(), StatusCode::OK).await?;
        longest = longest.max(sent.elapsed());
        most = most.max(resident_megabytes(&[subject.pid])?);
        sleep(Duration::from_millis(200)).await;
    }
    Ok((longest, most))
}

/// Returns an error once a server exceeds the memory limit.
async fn watch_memory(pid: u32, most: f64) -> Box<dyn std::error::Error + Send + Sync> {
    loop {
        match resident_megabytes(&[pid]) {
            Ok(resident) if resident < most => sleep(CHECK_INTERVAL).await,
            Ok(resident) => return format!("the server uses {resident:.0} MB of memory").into(),
            Err(error) => return error,
        }
    }
}
