//! Subject: a client to measure, and the program around it.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use clap::{Parser, ValueEnum};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use tokio::task::JoinSet;

use super::cost::{Cost, Spent};
use super::{Latency, Report, fixture};
use crate::server::{ListForm, Outcome};

/// A client, used the way its users would.
pub trait Subject: Send + Sync + 'static {
    /// Lists all pods and returns the undecoded body in one buffer.
    fn list_raw(&self, form: ListForm) -> impl Future<Output = Outcome<Bytes>> + Send;

    /// Lists all pods with one request and decodes them, in the default encoding of the client.
    fn list_typed(&self) -> impl Future<Output = Outcome<Vec<Pod>>> + Send;

    /// Gets a config map from [`NAMESPACE`](super::NAMESPACE).
    fn get(&self, name: &str) -> impl Future<Output = Outcome<ConfigMap>> + Send;
}

/// Runs one job with a client and prints its cost
#[derive(Debug, Parser)]
pub struct Arguments {
    /// The job to run
    pub job: Job,
    /// Kubeconfig of the server
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: PathBuf,
    /// Requests compressed responses
    #[arg(long)]
    pub compress: bool,
    /// Number of objects to get
    #[arg(long, default_value_t = 10_000)]
    pub count: usize,
    /// Number of concurrent requests
    #[arg(long, default_value_t = 32)]
    pub concurrency: usize,
}

/// The job to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// List all pods as protobuf, undecoded
    ListRaw,
    /// List all pods as JSON, undecoded
    ListRawJson,
    /// List all pods, decoded
    ListTyped,
    /// Get config maps one by one, decoded
    Gets,
}

impl Job {
    /// Returns the name, as used on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ListRaw => "list-raw",
            Self::ListRawJson => "list-raw-json",
            Self::ListTyped => "list-typed",
            Self::Gets => "gets",
        }
    }
}

/// Runs the job given on the command line, and prints its report.
pub async fn run<S: Subject>(name: &str, connect: impl AsyncFnOnce(&Arguments) -> Outcome<S>) -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = async {
        let subject = Arc::new(connect(&arguments).await?);
        // Spawned, as it would be in a larger program: `main` does not run on a worker thread of the runtime, and
        // each wake-up of it would cost a thread switch.
        let name = name.to_owned();
        tokio::spawn(async move { measure(name, &subject, &arguments).await }).await?
    };
    match outcome.await {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure<S: Subject>(name: String, subject: &Arc<S>, arguments: &Arguments) -> Outcome<Report> {
    let warm = if arguments.job == Job::Gets { arguments.concurrency } else { 1 };
    get_many(subject, warm, warm).await?; // client.C1: opens the connections that the job will use
    let start = Spent::now()?;
    let (objects, latency, spent) = match arguments.job {
        Job::ListRaw | Job::ListRawJson => {
            let form = if arguments.job == Job::ListRaw { ListForm::Protobuf } else { ListForm::Json };
            let body = subject.list_raw(form).await?;
            let spent = start.since()?;
            (form.count(body)?, None, spent)
        }
        Job::ListTyped => {
            let pods = subject.list_typed().await?;
            let spent = start.since()?;
            if pods.iter().any(|pod| pod.metadata.uid.is_none() || pod.spec.is_none()) {
                return Err("incomplete pod: no UID or no spec".into());
            }
            (pods.len(), None, spent)
        }
        Job::Gets => {
            let latency = get_many(subject, arguments.count, arguments.concurrency).await?;
            (arguments.count, latency, start.since()?)
        }
    };
    let job = arguments.job.name().to_owned();
    let Cost { wall, cpu, peak_kibibytes } = spent;
    Ok(Report { name, job, objects, wall, cpu, latency, peak_kibibytes })
}

/// Gets `count` config maps with `concurrency` workers.
async fn get_many<S: Subject>(
    subject: &Arc<S>,
    count: usize,
    concurrency: usize,
) -> Outcome<Option<Latency>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let (subject, next) = (subject.clone(), next.clone());
        workers.spawn(async move {
            let mut times = Vec::with_capacity(count / concurrency * 2);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return Ok(times);
                }
                let name = fixture::name(index);
                let start = Instant::now();
                let found = subject.get(&name).await?;
                times.push(start.elapsed());
                if found.metadata.name.as_deref() != Some(&name) || found.data.is_none() {
                    return Err(format!("incomplete config map {name}").into());
                }
            }
        });
    }
    let mut times = Vec::with_capacity(count);
    while let Some(worker) = workers.join_next().await {
        let done: Outcome<Vec<_>> = worker?;
        times.extend(done?);
    }
    Ok(Latency::of(times))
}
