//! Usage: what processes have cost, as the kernel counts it.

use std::fs;
use std::ops::Sub;

use super::Outcome;

/// The kernel counts processor time in hundredths of a second, on every Linux there is.
const TICKS_A_SECOND: f64 = 100.0;

/// Processor time, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// Of the server: of all its processes.
    pub server: f64,
    /// Of this process.
    pub loader: f64,
}

impl Usage {
    /// Up to now.
    ///
    /// # Errors
    /// Where a process has ended.
    pub fn now(server: &[u32]) -> Outcome<Self> {
        let server: Outcome<Vec<f64>> = server.iter().map(|pid| seconds(&pid.to_string())).collect();
        Ok(Self { server: server?.into_iter().sum(), loader: seconds("self")? })
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { server: self.server - earlier.server, loader: self.loader - earlier.loader }
    }
}

fn seconds(pid: &str) -> Outcome<f64> {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| format!("process {pid}: {error}"))?;
    // The name, in brackets, may hold anything; after it come the state and then numbers.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    Ok((ticks(11) + ticks(12)) / TICKS_A_SECOND)
}

/// How much memory processes have resident, in megabytes of a million bytes.
///
/// # Errors
/// Where one has ended.
pub fn resident_megabytes(pids: &[u32]) -> Outcome<f64> {
    let mut sum = 0.0;
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))
            .map_err(|error| format!("process {pid}: {error}"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        sum += kibibytes * 1024.0 / 1e6;
    }
    Ok(sum)
}
