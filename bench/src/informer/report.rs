//! Report: what an informer has cost, as lines of text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::server::Outcome;

/// A line that an informer prints, without the name that it begins with:
///
/// ```text
/// client-go sync objects=20000 wall=1.234s cpu=1.234s VmHWM: 123456 kB VmRSS: 123456 kB
/// client-go steady VmHWM: 123456 kB VmRSS: 123456 kB
/// client-go events=10000 wall=25.000s cpu=1.234s
/// client-go select objects=10 each=1.234us
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Report {
    /// It has all objects.
    Sync(Sync),
    /// It has rested.
    Steady(Memory),
    /// It has followed.
    Events(Events),
    /// It has been asked for the objects with a label.
    Select(Selected),
}

/// What it cost to fill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sync {
    /// How many objects there are.
    pub objects: usize,
    /// On the clock.
    pub wall: Duration,
    /// On processors.
    pub cpu: Duration,
    /// What was resident then.
    pub memory: Memory,
}

/// Resident sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// The largest so far, in units of 1024 bytes.
    pub peak: u64,
    /// The present one.
    pub now: u64,
}

impl Memory {
    /// Of this process.
    ///
    /// # Errors
    /// Where the kernel does not say.
    pub fn read() -> Outcome<Self> {
        let status = std::fs::read_to_string("/proc/self/status")?;
        let size = |name: &str| -> Outcome<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such size")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok(Self { peak: size("VmHWM:")?, now: size("VmRSS:")? })
    }
}

/// What it cost to follow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Events {
    /// How many updates.
    pub count: u64,
    /// On the clock.
    pub wall: Duration,
    /// On processors.
    pub cpu: Duration,
}

/// What it cost to find the objects with a label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selected {
    /// How many were found.
    pub objects: usize,
    /// How long it took.
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
        read(line).ok_or_else(|| format!("no report: {line:?}"))
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
    fn a_line_is_read_as_it_was_written() {
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
            assert_eq!(line.parse::<Report>(), Err(format!("no report: {line:?}")));
        }
    }
}
