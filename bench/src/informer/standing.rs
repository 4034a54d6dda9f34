//! Standing: the reports of several informers, and a table of them.

use std::fmt::Write as _;

use super::Report;
use crate::server::number;

/// An informer, and what it has reported so far.
#[derive(Debug, Clone)]
pub struct Informant {
    name: &'static str,
    reports: Vec<Report>,
}

/// Several informers beside each other.
#[derive(Debug)]
pub struct Standing {
    informants: Vec<Informant>,
}

/// What is told of an informer.
struct Row {
    what: &'static str,
    of: fn(&Report) -> Option<f64>,
    goals: &'static [Goal],
}

/// What is hoped for.
struct Goal {
    of: &'static str,
    at_most: f64,
    /// Of whom `at_most` is a multiple; of nobody if it is a number of its own.
    times: Option<&'static str>,
}

/// The names by which goals know informers.
impl Informant {
    /// The peer that goals are set by.
    pub const CLIENT_GO: &str = "client-go";
    /// Ours as it is by default.
    pub const ENCODED: &str = "Watchkeeper, encoded";
    /// Ours with a decoded copy of everything.
    pub const DECODED: &str = "Watchkeeper, decoded";
}

const ROWS: [Row; 7] = [
    Row {
        what: "fill: CPU time, ms",
        of: |report| match report {
            Report::Sync(sync) => Some(sync.cpu.as_secs_f64() * 1e3),
            _ => None,
        },
        goals: &[Goal { of: Informant::ENCODED, at_most: 0.5, times: Some(Informant::CLIENT_GO) }],
    },
    Row {
        what: "fill: time, ms",
        of: |report| match report {
            Report::Sync(sync) => Some(sync.wall.as_secs_f64() * 1e3),
            _ => None,
        },
        goals: &[],
    },
    Row {
        what: "resident at rest, MB",
        of: |report| match report {
            Report::Steady(memory) => Some(megabytes(memory.now)),
            _ => None,
        },
        goals: &[
            Goal { of: Informant::ENCODED, at_most: 90.0, times: None },
            Goal { of: Informant::DECODED, at_most: 1.0, times: Some(Informant::CLIENT_GO) },
        ],
    },
    Row {
        what: "peak, as a multiple of what is resident at rest",
        of: |report| match report {
            Report::Steady(memory) => Some(memory.peak as f64 / memory.now as f64),
            _ => None,
        },
        goals: &[Goal { of: Informant::ENCODED, at_most: 1.3, times: None }],
    },
    Row {
        what: "follow: CPU time per event, us",
        of: |report| match report {
            Report::Events(events) => Some(events.cpu.as_secs_f64() * 1e6 / events.count as f64),
            _ => None,
        },
        goals: &[Goal { of: Informant::ENCODED, at_most: 60.0, times: None }],
    },
    Row {
        what: "follow: events per second",
        of: |report| match report {
            Report::Events(events) => Some(events.count as f64 / events.wall.as_secs_f64()),
            _ => None,
        },
        goals: &[],
    },
    Row {
        what: "list by a label that ten objects have, us",
        of: |report| match report {
            Report::Select(selected) => Some(selected.each.as_secs_f64() * 1e6),
            _ => None,
        },
        goals: &[Goal { of: Informant::ENCODED, at_most: 0.02, times: Some(Informant::CLIENT_GO) }],
    },
];

fn megabytes(kibibytes: u64) -> f64 {
    kibibytes as f64 * 1024.0 / 1e6
}

impl Standing {
    /// Of informers of these names.
    pub fn new(names: &[&'static str]) -> Self {
        let new = |name: &&'static str| Informant { name, reports: Vec::new() };
        Self { informants: names.iter().map(new).collect() }
    }

    /// What an informer of the given place has said.
    pub fn heard(&mut self, place: usize, reports: impl IntoIterator<Item = Report>) {
        self.informants[place].reports.extend(reports);
    }

    /// The table: of each number the median of all rounds.
    pub fn render(&self) -> String {
        let (mut text, mut rule) = ("| what |".to_owned(), "|---|".to_owned());
        for informant in &self.informants {
            let _ = write!(text, " {} |", informant.name);
            rule.push_str("---:|");
        }
        let _ = writeln!(text, " goal |\n{rule}---|");
        for row in &ROWS {
            let _ = write!(text, "| {} |", row.what);
            for informant in &self.informants {
                let _ = write!(text, " {} |", median(informant, row).map(number).unwrap_or_default());
            }
            let goals: Vec<_> = row.goals.iter().filter_map(|goal| self.judge(row, goal)).collect();
            let _ = writeln!(text, " {} |", goals.join("; "));
        }
        text
    }

    fn judge(&self, row: &Row, goal: &Goal) -> Option<String> {
        let of = |name: &str| {
            let informant = self.informants.iter().find(|informant| informant.name == name)?;
            median(informant, row)
        };
        let ours = of(goal.of)?;
        let who = goal.of.rsplit(' ').next().unwrap_or_default();
        let (limit, wording) = match goal.times {
            None => (goal.at_most, format!("{who} at most {}", number(goal.at_most))),
            Some(peer) => {
                let theirs = of(peer)?;
                let is = ours / theirs;
                (goal.at_most * theirs, format!("{who} at most {}x {peer}, is {is:.3}x", goal.at_most))
            }
        };
        let met = if ours <= limit { "met" } else { "**missed**" };
        Some(format!("{wording}: {met}"))
    }
}

fn median(informant: &Informant, row: &Row) -> Option<f64> {
    let mut numbers: Vec<f64> = informant.reports.iter().filter_map(row.of).collect();
    numbers.sort_by(f64::total_cmp);
    let (low, high) = (numbers.len().checked_sub(1)? / 2, numbers.len() / 2);
    Some((numbers[low] + numbers[high]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(line: &str) -> Report {
        line.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn the_median_of_the_rounds_is_held_against_the_goals() {
        let mut standing = Standing::new(&[Informant::CLIENT_GO, Informant::ENCODED]);
        for (cpu, memory) in [("1.0", 1000), ("9.0", 100_000), ("2.0", 80_000)] {
            let sync = format!("x sync objects=2 wall=2.000s cpu={cpu}s VmHWM: 1 kB VmRSS: 1 kB");
            let steady = format!("x steady VmHWM: {} kB VmRSS: {memory} kB", 2 * memory);
            standing.heard(0, [report(&sync)]);
            standing.heard(1, [report(&sync), report(&steady)]);
        }
        let text = standing.render();
        let rows = [
            "| what | client-go | Watchkeeper, encoded | goal |\n|---|---:|---:|---|\n",
            "| fill: CPU time, ms | 2,000 | 2,000 | encoded at most 0.5x client-go, is 1.000x: **missed** |",
            "| resident at rest, MB |  | 81.9 | encoded at most 90.0: met |",
            "| peak, as a multiple of what is resident at rest |  | 2.00 | encoded at most 1.30: **missed** |",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} is not in {text}");
        }
    }
}
