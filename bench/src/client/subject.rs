//! Subject: a client that is measured, and the program around it.

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

use super::spent::{Cost, Spent};
use super::{Latency, Report, world};
use crate::server::{ListForm, Outcome};

/// A client as its users would use it.
pub trait Subject: Send + Sync + 'static {
    /// All pods, undecoded: the whole body in one piece.
    fn list_raw(&self, form: ListForm) -> impl Future<Output = Outcome<Bytes>> + Send;

    /// All pods in one answer, in the encoding that the client has for them.
    fn list_typed(&self) -> impl Future<Output = Outcome<Vec<Pod>>> + Send;

    /// A config map of [`NAMESPACE`](super::NAMESPACE).
    fn get(&self, name: &str) -> impl Future<Output = Outcome<ConfigMap>> + Send;
}

/// What a client is asked to do
#[derive(Debug, Parser)]
pub struct Arguments {
    /// What to do
    pub job: Job,
    /// How to reach the server
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: PathBuf,
    /// Whether the server may compress what it sends
    #[arg(long)]
    pub compress: bool,
    /// How many objects to get
    #[arg(long, default_value_t = 10_000)]
    pub count: usize,
    /// How many of them at once
    #[arg(long, default_value_t = 32)]
    pub concurrency: usize,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// All pods as protobuf, undecoded
    ListRaw,
    /// All pods as JSON, undecoded
    ListRawJson,
    /// All pods, decoded
    ListTyped,
    /// Config maps, one by one, decoded
    Gets,
}

impl Job {
    /// The word for it, on a command line and in a report.
    pub fn word(self) -> &'static str {
        match self {
            Self::ListRaw => "list-raw",
            Self::ListRawJson => "list-raw-json",
            Self::ListTyped => "list-typed",
            Self::Gets => "gets",
        }
    }
}

/// Does the job that the command line names, and prints the report.
pub async fn run<S: Subject>(name: &str, connect: impl AsyncFnOnce(&Arguments) -> Outcome<S>) -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = async {
        let subject = Arc::new(connect(&arguments).await?);
        // In a task, as in a program that does more than one thing: the thread of `main` is none of the runtime's,
        // and every piece that it is woken for costs a change of threads.
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
    get_many(subject, warm, warm).await?; // K1: as many connections as the job will use
    let begun = Spent::now()?;
    let (objects, latency, spent) = match arguments.job {
        Job::ListRaw | Job::ListRawJson => {
            let form = if arguments.job == Job::ListRaw { ListForm::Protobuf } else { ListForm::Json };
            let body = subject.list_raw(form).await?;
            let spent = begun.since()?;
            (form.count(body)?, None, spent)
        }
        Job::ListTyped => {
            let pods = subject.list_typed().await?;
            let spent = begun.since()?;
            if pods.iter().any(|pod| pod.metadata.uid.is_none() || pod.spec.is_none()) {
                return Err("a pod is not whole".into());
            }
            (pods.len(), None, spent)
        }
        Job::Gets => {
            let latency = get_many(subject, arguments.count, arguments.concurrency).await?;
            (arguments.count, latency, begun.since()?)
        }
    };
    let job = arguments.job.word().to_owned();
    let Cost { wall, cpu, peak_kibibytes } = spent;
    Ok(Report { name, job, objects, wall, cpu, latency, peak_kibibytes })
}

/// Gets so many config maps with so many workers.
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
                let name = world::name(index);
                let begun = Instant::now();
                let found = subject.get(&name).await?;
                times.push(begun.elapsed());
                if found.metadata.name.as_deref() != Some(&name) || found.data.is_none() {
                    return Err(format!("{name} is not whole").into());
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
