//! Report: the cost of one job, as a line of text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The cost of a job. Formatted and parsed as
///
/// ```text
/// client-go list-typed objects=20000 wall=1.234s cpu=1.234567s VmHWM: 123456 kB
/// client-go gets=10000 wall=1.234s cpu=1.234567s p50=1234us p99=2345us VmHWM: 123456 kB
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Name of the client.
    pub name: String,
    /// Name of the job.
    pub job: String,
    /// Number of objects fetched.
    pub objects: usize,
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the process, user and kernel.
    pub cpu: Duration,
    /// Latency of the requests, for jobs with one request per object.
    pub latency: Option<Latency>,
    /// Peak resident memory of the process, in KiB.
    pub peak_kibibytes: u64,
}

/// Percentiles of request latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
}

impl Latency {
    /// Computes the percentiles; `None` if there are no times.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |percent: usize| times.get(times.len() * percent / 100).copied();
        Some(Self { p50: at(50)?, p99: at(99)? })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, job, objects, .. } = self;
        let (wall, cpu) = (self.wall.as_secs_f64(), self.cpu.as_secs_f64());
        match self.latency {
            None => write!(f, "{name} {job} objects={objects} wall={wall:.3}s cpu={cpu:.6}s")?,
            Some(Latency { p50, p99 }) => {
                let (p50, p99) = (p50.as_micros(), p99.as_micros());
                write!(f, "{name} {job}={objects} wall={wall:.3}s cpu={cpu:.6}s p50={p50}us p99={p99}us")?;
            }
        }
        write!(f, " VmHWM: {} kB", self.peak_kibibytes)
    }
}

impl FromStr for Report {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        read(line).ok_or_else(|| format!("invalid report: {line:?}"))
    }
}

fn read(line: &str) -> Option<Report> {
    let mut words = line.split_whitespace();
    let (name, job) = (words.next()?.to_owned(), words.next()?);
    let (job, objects) = match job.split_once('=') {
        Some((job, count)) => (job, count),
        None => (job, words.next()?.strip_prefix("objects=")?),
    };
    let mut number = |before: &str, after: &str| {
        let mut ahead = words.clone();
        let value: f64 = ahead.next()?.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
        words = ahead; // a word that does not match stays for the next call
        Some(value)
    };
    let (wall, cpu) = (number("wall=", "s")?, number("cpu=", "s")?);
    let latency = match (number("p50=", "us"), number("p99=", "us")) {
        (Some(p50), Some(p99)) => {
            let micros = |value: f64| Duration::from_micros(value as u64);
            Some(Latency { p50: micros(p50), p99: micros(p99) })
        }
        _ => None,
    };
    let peak_kibibytes = (words.next()? == "VmHWM:").then(|| words.next()?.parse().ok())??;
    Some(Report {
        name,
        job: job.to_owned(),
        objects: objects.parse().ok()?,
        wall: Duration::try_from_secs_f64(wall).ok()?,
        cpu: Duration::try_from_secs_f64(cpu).ok()?,
        latency,
        peak_kibibytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_parse_as_they_were_formatted() {
        for line in [
            "client-go list-typed objects=20000 wall=1.234s cpu=0.500250s VmHWM: 123456 kB",
            "kube gets=10000 wall=1.234s cpu=0.500250s p50=1234us p99=2345us VmHWM: 7 kB",
        ] {
            assert_eq!(line.parse::<Report>().map(|report| report.to_string()), Ok(line.to_owned()));
        }
        for line in
            ["", "x gets=1", "x gets=1 wall=1s cpu=1s p50=1us", "x y objects=1 wall=1s cpu=-1s VmHWM: 1 kB"]
        {
            assert_eq!(line.parse::<Report>(), Err(format!("invalid report: {line:?}")));
        }
    }

    #[test]
    fn percentiles_are_measured_times() {
        let times = (1..=200).map(Duration::from_micros).rev().collect();
        let expected = Latency { p50: Duration::from_micros(101), p99: Duration::from_micros(199) };
        assert_eq!(Latency::of(times), Some(expected));
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
