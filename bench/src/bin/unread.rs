//! What do responses cost that nobody reads, and is the memory given back? Watchkeeper's server beside another, such as
//! kube-apiserver.
//!
//! Workload: 1,000 config maps of a kilobyte in one namespace, 1,000 of ten kilobytes in another. HTTP/2 streams whose
//! window is zero ask for lists of them, or for watches that begin with all of them, so that the server can send
//! nothing but heads. Memory is what is resident: before, ten seconds after the last head, and a minute after the
//! connections are closed. How long `/readyz` takes is asked on a connection of its own meanwhile. Not counted: etcd.
//!
//! ```text
//! cargo build --release -p watchkeeper-cli && cargo run --release -p watchkeeper-bench --bin unread
//! cargo run --manifest-path oracle/Cargo.toml --bin bench -- unread
//! ```
//!
//! A server that grows beyond `--most-megabytes` ends the run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Parser;
use http::{Method, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use watchkeeper_bench::server::{Connection, Endpoint, Outcome, OwnServer, namespace, resident_megabytes};

/// How many streams a connection has; ours takes no more.
const STREAMS: usize = 100;
/// How long a server is left alone before its memory is read under load, and after it.
const UNDER: Duration = Duration::from_secs(10);
const AFTER: Duration = Duration::from_secs(60);
/// How long all heads of a load may take.
const HEADS: Duration = Duration::from_secs(120);
/// How often memory is looked at while a load is put on.
const LOOK: Duration = Duration::from_millis(20);

/// Measures the memory of Watchkeeper's API server under unread responses, and of another if one is given
#[derive(Parser)]
struct Arguments {
    /// The command of ours; by default the one that was built beside this
    #[arg(long, value_name = "PATH")]
    watchkeeper: Option<PathBuf>,
    /// The kubeconfig of the other, on this machine
    #[arg(long, value_name = "PATH", requires = "peer_pid")]
    peer_kubeconfig: Option<PathBuf>,
    /// The process of the other
    #[arg(long, value_name = "PID")]
    peer_pid: Option<u32>,
    /// What the other is called
    #[arg(long, default_value = "kube-apiserver")]
    peer_name: String,
    /// Also ask for 1,000 lists and watches of 10 MB; of ours only
    #[arg(long)]
    large: bool,
    /// Memory at which the run ends
    #[arg(long, default_value_t = 4000.0)]
    most_megabytes: f64,
}

/// A server under load.
struct Subject {
    name: String,
    endpoint: Endpoint,
    pid: u32,
}

/// What is asked for and not read.
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
        "| load | server | before, MB | under, MB | most, MB | a minute after, MB | /readyz meanwhile, ms |"
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
    let server = OwnServer::start(&command).await?;
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
    namespace(&connection, name).await?;
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
            unread = timeout(HEADS, ask(subject, load)) => unread.map_err(|_| "heads took too long")??,
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

/// Opens streams that cannot be sent anything, and returns once all have their head.
async fn ask(subject: &Subject, load: &Load) -> Outcome<Vec<http::Response<hyper::body::Incoming>>> {
    let mut heads = JoinSet::new();
    for _ in 0..load.streams / STREAMS {
        let connection = Connection::open_with_window(&subject.endpoint, 0).await?;
        for _ in 0..STREAMS {
            let (connection, path) = (connection.clone(), load.path);
            heads.spawn(
                async move { connection.send(Method::GET, path, "application/json", Bytes::new()).await },
            );
        }
    }
    let mut unread = Vec::new();
    while let Some(head) = heads.join_next().await {
        let head = head??;
        if head.status() != StatusCode::OK {
            return Err(format!("{}: {}", load.name, head.status()).into());
        }
        unread.push(head);
    }
    Ok(unread)
}

/// The longest that `/readyz` takes, and the most that is resident, for a while.
async fn observe(subject: &Subject) -> Outcome<(Duration, f64)> {
    let (begun, mut longest, mut most) = (Instant::now(), Duration::ZERO, 0.0_f64);
    while begun.elapsed() < UNDER {
        let asked = Instant::now();
        let connection = Connection::open(&subject.endpoint).await?;
        connection.exchange(Method::GET, "/readyz", Bytes::new(), StatusCode::OK).await?;
        longest = longest.max(asked.elapsed());
        most = most.max(resident_megabytes(&[subject.pid])?);
        sleep(Duration::from_millis(200)).await;
    }
    Ok((longest, most))
}

/// Returns once a server has grown too large.
async fn watch_memory(pid: u32, most: f64) -> Box<dyn std::error::Error + Send + Sync> {
    loop {
        match resident_megabytes(&[pid]) {
            Ok(resident) if resident < most => sleep(LOOK).await,
            Ok(resident) => return format!("the server has grown to {resident:.0} MB").into(),
            Err(error) => return error,
        }
    }
}
