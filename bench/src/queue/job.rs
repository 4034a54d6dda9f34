//! Job: the operations to measure, and the command line of a queue program.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// The job to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// Producers add keys, and as many workers take them and mark them done at once
    HandOut,
    /// Each key is added with its own delay
    Delay,
    /// The load generator creates objects on a server, and a worker reconciles each
    Follow,
}

impl Job {
    /// Returns the name, as used on command lines and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::HandOut => "hand-out",
            Self::Delay => "delay",
            Self::Follow => "follow",
        }
    }
}

/// Runs one job with a queue and prints its cost
#[derive(Debug, Parser)]
pub struct Arguments {
    /// The job to run
    pub job: Job,
    /// Number of keys
    #[arg(long, default_value_t = 1_000_000)]
    pub keys: usize,
    /// Number of producers, and number of workers
    #[arg(long, default_value_t = 1)]
    pub workers: usize,
    /// Kubeconfig of the server, for the job `follow`
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
}
