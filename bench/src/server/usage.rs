//! Usage: CPU time and memory of processes, as accounted by the kernel.

use std::fs;
use std::ops::Sub;

use super::Outcome;

/// Resolution of `/proc/PID/stat`: `USER_HZ`, which is 100 on all common Linux platforms.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// CPU time of all processes of the server.
    pub server: f64,
    /// CPU time of this process.
    pub load_generator: f64,
}

impl Usage {
    /// Reads the CPU time used so far by the processes of a server and by this process.
    ///
    /// # Errors
    /// If a process has exited.
    pub fn now(server: &[u32]) -> Outcome<Self> {
        let server: Outcome<Vec<f64>> = server.iter().map(|pid| seconds(&pid.to_string())).collect();
        Ok(Self { server: server?.into_iter().sum(), load_generator: seconds("self")? })
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            server: self.server - earlier.server,
            load_generator: self.load_generator - earlier.load_generator,
        }
    }
}

fn seconds(pid: &str) -> Outcome<f64> {
    let stat =
        fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|error| format!("process {pid}: {error}"))?;
    // The name, in parentheses, can contain any character; the state and numbers follow it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
}

/// Returns the resident memory of the processes, in megabytes of a million bytes.
///
/// # Errors
/// If a process has exited.
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
