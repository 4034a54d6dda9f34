//! Job: what is measured of a queue.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Job {
    /// Keys are added by some, taken by as many others, and done at once
    HandOut,
    /// Keys are added, each after a delay of its own
    Delay,
    /// Objects are created on a server by somebody else, and a worker is told of each
    Follow,
}

impl Job {
    /// The word for it on command lines and in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::HandOut => "hand-out",
            Self::Delay => "delay",
            Self::Follow => "follow",
        }
    }
}

/// What the program around a queue is told
#[derive(Debug, Parser)]
pub struct Arguments {
    /// What to do
    pub job: Job,
    /// How many keys
    #[arg(long, default_value_t = 1_000_000)]
    pub keys: usize,
    /// How many add keys, and how many work on them
    #[arg(long, default_value_t = 1)]
    pub workers: usize,
    /// How to reach the server, for what follows one
    #[arg(long, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
}
