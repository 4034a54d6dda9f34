//! Subject: a client to measure, and the program around it.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use clap::{Parser, ValueEnum};
use tokio::task::JoinSet;
use watchkeeper_kinds::{api, k8s_openapi};

use super::cost::{Cost, Spent};
use super::{Latency, Report, fixture};
use crate::server::{ListForm, Outcome};

/// An object of a list or get.
pub trait Fetched: Send + 'static {
    /// Returns the name if the parts that every object of the fixture has are there.
    fn name_if_complete(&self) -> Option<&str>;
}

impl Fetched for api::core::v1::Pod {
    fn name_if_complete(&self) -> Option<&str> {
        let is_complete = !self.metadata.uid.is_empty() && !self.spec.containers.is_empty();
        is_complete.then_some(&*self.metadata.name)
    }
}

impl Fetched for api::core::v1::ConfigMap {
    fn name_if_complete(&self) -> Option<&str> {
        (!self.data.is_empty()).then_some(&*self.metadata.name)
    }
}

impl Fetched for k8s_openapi::api::core::v1::Pod {
    fn name_if_complete(&self) -> Option<&str> {
        let is_complete = self.metadata.uid.is_some() && self.spec.is_some();
        self.metadata.name.as_deref().filter(|_| is_complete)
    }
}

impl Fetched for k8s_openapi::api::core::v1::ConfigMap {
    fn name_if_complete(&self) -> Option<&str> {
        self.metadata.name.as_deref().filter(|_| self.data.is_some())
    }
}

/// A client, used the way its users would.
pub trait Subject: Send + Sync + 'static {
    /// The client's type of pods.
    type Pod: Fetched;
    /// The client's type of config maps.
    type ConfigMap: Fetched;

    /// Lists all pods and returns the undecoded body in one buffer.
    fn list_raw(&self, form: ListForm) -> impl Future<Output = Outcome<Bytes>> + Send;

    /// Lists all pods with one request and decodes them, in the default encoding of the client.
    fn list_typed(&self) -> impl Future<Output = Outcome<Vec<Self::Pod>>> + Send;

    /// Gets a config map from [`NAMESPACE`](super::NAMESPACE).
    fn get(&self, name: &str) -> impl Future<Output = Outcome<Self::ConfigMap>> + Send;
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
    /// Types to decode to; only Watchkeeper's client has a choice
    #[arg(long, value_enum, default_value = "ours")]
    pub types: Types,
}

/// The Rust types of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Types {
    /// The types of watchkeeper-kinds
    Ours,
    /// The types of k8s-openapi
    #[value(name = "k8s-openapi")]
    K8sOpenapi,
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
            if pods.iter().any(|pod| pod.name_if_complete().is_none()) {
                return Err("incomplete pod: no name, UID or spec".into());
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
                if found.name_if_complete() != Some(&name) {
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
