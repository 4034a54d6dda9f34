//! Spent: what this process has cost, as the kernel counts it.

use std::fs;
use std::time::{Duration, Instant};

use crate::server::Outcome;

/// A moment, and what had been spent by then.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    at: Instant,
    processor: Duration,
}

impl Spent {
    /// Up to now.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn now() -> Outcome<Self> {
        Ok(Self { at: Instant::now(), processor: processor_time()? })
    }

    /// What has been spent since then.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn since(self) -> Outcome<Cost> {
        let now = Self::now()?;
        let peak_kibibytes = peak_kibibytes()?;
        Ok(Cost { wall: now.at - self.at, cpu: now.processor - self.processor, peak_kibibytes })
    }
}

/// What something has cost.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// On the clock.
    pub wall: Duration,
    /// On processors.
    pub cpu: Duration,
    /// The largest resident size of the process, up to then.
    pub peak_kibibytes: u64,
}

/// Of all threads that there are, to the nanosecond: `/proc/self/stat` counts in hundredths of a second. None
/// may have ended since an earlier call; those of a runtime do not.
fn processor_time() -> Outcome<Duration> {
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
