//! Timing: runs several operations in turn and reports the best round of each.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// An operation to measure.
pub struct Operation<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> usize + 'a>,
    bytes: usize,
    against: Option<Goal>,
}

/// The operation to compare with, and the largest acceptable ratio.
#[derive(Debug, Clone, Copy)]
struct Goal {
    name: &'static str,
    at_most: Option<f64>,
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("name", &self.name)
            .field("against", &self.against)
            .finish_non_exhaustive()
    }
}

impl<'a> Operation<'a> {
    /// Creates an operation that processes `bytes` bytes. The result of `run` is passed to `black_box`, so that the
    /// compiler cannot optimize the work away.
    pub fn new(name: &'static str, bytes: usize, run: impl FnMut() -> usize + 'a) -> Self {
        Self { name, run: Box::new(run), bytes, against: None }
    }

    /// Prints the time as a multiple of the time of the operation `name`.
    pub fn against(mut self, name: &'static str) -> Self {
        self.against = Some(Goal { name, at_most: None });
        self
    }

    /// Sets the goal: the largest acceptable multiple. Has no effect without [`against`](Self::against).
    pub fn at_most(mut self, ratio: f64) -> Self {
        if let Some(goal) = &mut self.against {
            goal.at_most = Some(ratio);
        }
        self
    }

    /// Returns the name, as printed in the table.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the operation once.
    pub fn run(&mut self) -> usize {
        black_box((self.run)())
    }
}

/// Runs every operation once per round, and prints a table with the best time of each.
///
/// `units` is the number of pods that an operation processes; a row has the time per pod.
pub fn print_table(operations: &mut [Operation<'_>], rounds: usize, units: usize) {
    let mut best = vec![Duration::MAX; operations.len()];
    for _ in 0..rounds {
        for (operation, best) in operations.iter_mut().zip(&mut best) {
            let start = Instant::now();
            operation.run();
            *best = start.elapsed().min(*best);
        }
    }
    println!("| operation | us per pod | GB/s | ratio | goal |");
    println!("|---|---:|---:|---|---|");
    for (operation, time) in operations.iter().zip(&best) {
        let micros = time.as_secs_f64() * 1e6 / units as f64;
        let rate = operation.bytes as f64 / time.as_secs_f64() / 1e9;
        let other = operation.against.and_then(|goal| {
            let other = operations.iter().position(|other| other.name == goal.name)?;
            Some((goal, time.as_secs_f64() / best[other].as_secs_f64()))
        });
        let (ratio, goal) = match other {
            Some((goal, ratio)) => (
                format!("{ratio:.2}x {}", goal.name),
                goal.at_most.map_or(String::new(), |most| {
                    format!("at most {most}x: {}", if ratio <= most { "met" } else { "**missed**" })
                }),
            ),
            None => Default::default(),
        };
        println!("| {} | {micros:.2} | {rate:.2} | {ratio} | {goal} |", operation.name);
    }
}
