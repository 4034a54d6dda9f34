//! Report: the cost of an informer, as lines of text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::server::Outcome;

/// A line printed by an informer. The leading name is not part of the report:
///
/// ```text
/// client-go sync objects=20000 wall=1.234s cpu=1.234s VmHWM: 123456 kB VmRSS: 123456 kB
/// client-go steady VmHWM: 123456 kB VmRSS: 123456 kB
/// client-go events=10000 wall=25.000s cpu=1.234s
/// client-go select objects=10 each=1.234us
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Report {
    /// All objects are in the store.
    Sync(Sync),
    /// The informer has been idle for a while.
    Steady(Memory),
    /// The informer has received the updates.
    Events(Events),
    /// The informer has listed objects by label.
    Select(Selected),
}

/// The cost of the initial sync.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sync {
    /// Number of objects in the store.
    pub objects: usize,
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the process, user and kernel.
    pub cpu: Duration,
    /// Resident memory after the sync.
    pub memory: Memory,
}

/// Resident memory, in KiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Peak so far.
    pub peak: u64,
    /// Current value.
    pub now: u64,
}

impl Memory {
    /// Reads the resident memory of this process.
    ///
    /// # Errors
    /// If `/proc/self/status` cannot be read or parsed.
    pub fn read() -> Outcome<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let size = |name: &str| -> Outcome<u64> {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .ok_or("missing field in /proc/self/status")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok(Self { peak: size("VmHWM:")?, now: size("VmRSS:")? })
    }
}

/// The cost of following updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Events {
    /// Number of updates received.
    pub count: u64,
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the process, user and kernel.
    pub cpu: Duration,
}

/// The cost of listing objects by label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selected {
    /// Number of objects found.
    pub objects: usize,
    /// Median time of one list.
    pub each: Duration,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VmHWM: {} kB VmRSS: {} kB", self.peak, self.now)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync(Sync { objects, wall, cpu, memory }) => {
                let (wall, cpu) = (wall.as_secs_f64(), cpu.as_secs_f64());
                write!(f, "sync objects={objects} wall={wall:.3}s cpu={cpu:.3}s {memory}")
            }
            Self::Steady(memory) => write!(f, "steady {memory}"),
            Self::Events(Events { count, wall, cpu }) => {
                let (wall, cpu) = (wall.as_secs_f64(), cpu.as_secs_f64());
                write!(f, "events={count} wall={wall:.3}s cpu={cpu:.3}s")
            }
            Self::Select(Selected { objects, each }) => {
                write!(f, "select objects={objects} each={:.3}us", each.as_secs_f64() * 1e6)
            }
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
    let number = |word: &str, before: &str, after: &str| -> Option<f64> {
        word.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    };
    let time = |word: &str, before: &str| Duration::try_from_secs_f64(number(word, before, "s")?).ok();
    let memory = |words: &[&str]| match words {
        ["VmHWM:", peak, "kB", "VmRSS:", now, "kB"] => {
            Some(Memory { peak: peak.parse().ok()?, now: now.parse().ok()? })
        }
        _ => None,
    };
    Some(match words.get(1..)? {
        ["sync", objects, wall, cpu, rest @ ..] => Report::Sync(Sync {
            objects: objects.strip_prefix("objects=")?.parse().ok()?,
            wall: time(wall, "wall=")?,
            cpu: time(cpu, "cpu=")?,
            memory: memory(rest)?,
        }),
        ["steady", rest @ ..] => Report::Steady(memory(rest)?),
        ["select", objects, each] => Report::Select(Selected {
            objects: objects.strip_prefix("objects=")?.parse().ok()?,
            each: Duration::try_from_secs_f64(number(each, "each=", "us")? / 1e6).ok()?,
        }),
        [events, wall, cpu] => Report::Events(Events {
            count: events.strip_prefix("events=")?.parse().ok()?,
            wall: time(wall, "wall=")?,
            cpu: time(cpu, "cpu=")?,
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_parse_as_they_were_formatted() {
        for line in [
            "client-go sync objects=20000 wall=1.234s cpu=0.500s VmHWM: 2 kB VmRSS: 1 kB",
            "client-go steady VmHWM: 2 kB VmRSS: 1 kB",
            "client-go events=10000 wall=25.000s cpu=0.500s",
            "client-go select objects=10 each=1.500us",
        ] {
            assert_eq!(
                line.parse::<Report>().map(|report| format!("client-go {report}")),
                Ok(line.to_owned())
            );
        }
        for line in ["x", "x steady VmHWM: 2 kB", "x events=1 wall=1s cpu=-1s", "x select objects=1 each=1s"]
        {
            assert_eq!(line.parse::<Report>(), Err(format!("invalid report: {line:?}")));
        }
    }
}
