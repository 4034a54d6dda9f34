//! Report: the cost of one job, as a line of text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Job;
use crate::client::Cost;

/// The cost of a job. Formatted and parsed as
///
/// ```text
/// client-go hand-out keys=1000000 wall=1.234567s cpu=1.234567s
/// client-go delay keys=100000 wall=1.234567s cpu=1.234567s p50=12us p99=345us
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Name of the queue.
    pub name: String,
    /// Name of the job.
    pub job: String,
    /// Number of keys handed out.
    pub keys: usize,
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the process, user and kernel.
    pub cpu: Duration,
    /// Lateness of the keys, for jobs that measure it.
    pub late: Option<Lateness>,
}

/// Percentiles of the time from when a key is due until a worker has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

impl Lateness {
    /// Computes the percentiles; `None` if there are no keys.
    pub fn of(mut all: Vec<Duration>) -> Option<Self> {
        all.sort_unstable();
        let at = |part: usize| all.get(all.len() * part / 100).copied();
        Some(Self { p50: at(50)?, p99: at(99)? })
    }
}

impl Report {
    /// Creates the report of a job with this cost.
    pub fn new(name: &str, job: Job, keys: usize, cost: Cost, late: Option<Lateness>) -> Self {
        Self { name: name.to_owned(), job: job.name().to_owned(), keys, wall: cost.wall, cpu: cost.cpu, late }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wall, cpu) = (self.wall.as_secs_f64(), self.cpu.as_secs_f64());
        write!(f, "{} {} keys={} wall={wall:.6}s cpu={cpu:.6}s", self.name, self.job, self.keys)?;
        match self.late {
            Some(late) => write!(f, " p50={}us p99={}us", late.p50.as_micros(), late.p99.as_micros()),
            None => Ok(()),
        }
    }
}

impl FromStr for Report {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        read(line).ok_or_else(|| format!("invalid report: {line:?}"))
    }
}

fn read(line: &str) -> Option<Report> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let time = |word: &str, before: &str| {
        Duration::try_from_secs_f64(word.strip_prefix(before)?.strip_suffix('s')?.parse().ok()?).ok()
    };
    let micros = |word: &str, before: &str| {
        Some(Duration::from_micros(word.strip_prefix(before)?.strip_suffix("us")?.parse().ok()?))
    };
    let (words, late) = match *words {
        [ref words @ .., p50, p99] if p50.starts_with("p50=") => {
            (words, Some(Lateness { p50: micros(p50, "p50=")?, p99: micros(p99, "p99=")? }))
        }
        ref words => (words, None),
    };
    let [name, job, keys, wall, cpu] = *words else { return None };
    Some(Report {
        name: name.to_owned(),
        job: job.to_owned(),
        keys: keys.strip_prefix("keys=")?.parse().ok()?,
        wall: time(wall, "wall=")?,
        cpu: time(cpu, "cpu=")?,
        late,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_parse_as_they_were_formatted() {
        for line in [
            "client-go hand-out keys=1000000 wall=1.234567s cpu=0.500000s",
            "client-go delay keys=100000 wall=1.000000s cpu=0.500000s p50=12us p99=345us",
        ] {
            assert_eq!(line.parse::<Report>().map(|report| report.to_string()), Ok(line.to_owned()));
        }
        for line in ["x", "x delay keys=1 wall=1s cpu=1s p50=1us", "x delay keys=1 wall=1s cpu=-1s"] {
            assert_eq!(line.parse::<Report>(), Err(format!("invalid report: {line:?}")));
        }
    }

    #[test]
    fn percentiles_are_taken_from_the_sorted_times() {
        let all = (0..1000).rev().map(Duration::from_micros).collect();
        let late = Lateness::of(all).map(|late| (late.p50.as_micros(), late.p99.as_micros()));
        assert_eq!(late, Some((500, 990)));
        assert_eq!(Lateness::of(Vec::new()), None);
    }
}
