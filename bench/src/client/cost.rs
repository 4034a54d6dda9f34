//! Cost: CPU time and memory of this process, as accounted by the kernel.

use std::fs;
use std::time::{Duration, Instant};

use crate::server::Outcome;

/// A point in time, and the CPU time spent until then.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    at: Instant,
    cpu: Duration,
}

impl Spent {
    /// Reads the clock and the CPU time.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn now() -> Outcome<Self> {
        Ok(Self { at: Instant::now(), cpu: cpu_time()? })
    }

    /// Returns the cost since this point.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn since(self) -> Outcome<Cost> {
        let now = Self::now()?;
        let peak_kibibytes = peak_kibibytes()?;
        Ok(Cost { wall: now.at - self.at, cpu: now.cpu - self.cpu, peak_kibibytes })
    }
}

/// The cost of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of all threads, user and kernel.
    pub cpu: Duration,
    /// Peak resident memory of the process so far, in KiB.
    pub peak_kibibytes: u64,
}

/// Returns the CPU time of all live threads, in nanoseconds; `/proc/self/stat` has a resolution of 10 ms. The time of
/// threads that have exited is missing, so no thread may exit between two calls; the threads of a runtime do not.
fn cpu_time() -> Outcome<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let counts = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += counts.split_whitespace().next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

fn peak_kibibytes() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
