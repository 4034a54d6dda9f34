//! Comparison: a table of the reports of several informers.

use std::fmt::Write as _;

use super::Report;
use crate::server::number;

/// A column of the table: an informer and its reports so far.
#[derive(Debug, Clone)]
pub struct Column {
    name: &'static str,
    reports: Vec<Report>,
}

/// The results of several informers.
#[derive(Debug)]
pub struct Comparison {
    columns: Vec<Column>,
}

/// A row of the table.
struct Row {
    what: &'static str,
    of: fn(&Report) -> Option<f64>,
    goals: &'static [Goal],
}

/// The largest acceptable value in a row.
struct Goal {
    /// Name of the column that the goal is for.
    of: &'static str,
    at_most: f64,
    /// If set, `at_most` is a multiple of the value in this column; otherwise it is an absolute value.
    times: Option<&'static str>,
}

/// The column names that goals refer to.
impl Column {
    /// client-go's informer with default settings; relative goals refer to it.
    pub const CLIENT_GO: &str = "client-go";
    /// Our informer with default settings.
    pub const ENCODED: &str = "Watchkeeper, encoded";
    /// Our informer, which also keeps every object decoded.
    pub const DECODED: &str = "Watchkeeper, decoded";
}

const ROWS: [Row; 7] = [
    Row {
        what: "fill: CPU time, ms",
        of: |report| match report {
            Report::Sync(sync) => Some(sync.cpu.as_secs_f64() * 1e3),
            _ => None,
        },
        goals: &[Goal { of: Column::ENCODED, at_most: 0.5, times: Some(Column::CLIENT_GO) }],
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
        what: "memory at rest, MB",
        of: |report| match report {
            Report::Steady(memory) => Some(megabytes(memory.now)),
            _ => None,
        },
        goals: &[
            Goal { of: Column::ENCODED, at_most: 90.0, times: None },
            Goal { of: Column::DECODED, at_most: 1.0, times: Some(Column::CLIENT_GO) },
        ],
    },
    Row {
        what: "peak memory, as a multiple of memory at rest",
        of: |report| match report {
            Report::Steady(memory) => Some(memory.peak as f64 / memory.now as f64),
            _ => None,
        },
        goals: &[Goal { of: Column::ENCODED, at_most: 1.3, times: None }],
    },
    Row {
        what: "follow: CPU time per event, us",
        of: |report| match report {
            Report::Events(events) => Some(events.cpu.as_secs_f64() * 1e6 / events.count as f64),
            _ => None,
        },
        goals: &[Goal { of: Column::ENCODED, at_most: 60.0, times: None }],
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
        what: "list ten objects by label, us",
        of: |report| match report {
            Report::Select(selected) => Some(selected.each.as_secs_f64() * 1e6),
            _ => None,
        },
        goals: &[Goal { of: Column::ENCODED, at_most: 0.02, times: Some(Column::CLIENT_GO) }],
    },
];

fn megabytes(kibibytes: u64) -> f64 {
    kibibytes as f64 * 1024.0 / 1e6
}

impl Comparison {
    /// Creates an empty table with these columns.
    pub fn new(names: &[&'static str]) -> Self {
        let new = |name: &&'static str| Column { name, reports: Vec::new() };
        Self { columns: names.iter().map(new).collect() }
    }

    /// Adds the reports of one round to a column.
    pub fn record(&mut self, column: usize, reports: impl IntoIterator<Item = Report>) {
        self.columns[column].reports.extend(reports);
    }

    /// Returns the table as Markdown. Each number is the median of all rounds.
    pub fn render(&self) -> String {
        let (mut text, mut rule) = ("| what |".to_owned(), "|---|".to_owned());
        for column in &self.columns {
            let _ = write!(text, " {} |", column.name);
            rule.push_str("---:|");
        }
        let _ = writeln!(text, " goal |\n{rule}---|");
        for row in &ROWS {
            let _ = write!(text, "| {} |", row.what);
            for column in &self.columns {
                let _ = write!(text, " {} |", median(column, row).map(number).unwrap_or_default());
            }
            let goals: Vec<_> = row.goals.iter().filter_map(|goal| self.check_goal(row, goal)).collect();
            let _ = writeln!(text, " {} |", goals.join("; "));
        }
        text
    }

    /// Returns the goal and whether it was met; `None` if a column that it needs has no value.
    fn check_goal(&self, row: &Row, goal: &Goal) -> Option<String> {
        let of = |name: &str| {
            let column = self.columns.iter().find(|column| column.name == name)?;
            median(column, row)
        };
        let ours = of(goal.of)?;
        let name = goal.of.rsplit(' ').next().unwrap_or_default();
        let (limit, wording) = match goal.times {
            None => (goal.at_most, format!("{name} at most {}", number(goal.at_most))),
            Some(peer) => {
                let theirs = of(peer)?;
                let is = ours / theirs;
                (goal.at_most * theirs, format!("{name} at most {}x {peer}, is {is:.3}x", goal.at_most))
            }
        };
        let met = if ours <= limit { "met" } else { "**missed**" };
        Some(format!("{wording}: {met}"))
    }
}

fn median(column: &Column, row: &Row) -> Option<f64> {
    let mut numbers: Vec<f64> = column.reports.iter().filter_map(row.of).collect();
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
    fn the_median_of_the_rounds_is_compared_with_the_goals() {
        let mut comparison = Comparison::new(&[Column::CLIENT_GO, Column::ENCODED]);
        for (cpu, memory) in [("1.0", 1000), ("9.0", 100_000), ("2.0", 80_000)] {
            let sync = format!("x sync objects=2 wall=2.000s cpu={cpu}s VmHWM: 1 kB VmRSS: 1 kB");
            let steady = format!("x steady VmHWM: {} kB VmRSS: {memory} kB", 2 * memory);
            comparison.record(0, [report(&sync)]);
            comparison.record(1, [report(&sync), report(&steady)]);
        }
        let text = comparison.render();
        let rows = [
            "| what | client-go | Watchkeeper, encoded | goal |\n|---|---:|---:|---|\n",
            "| fill: CPU time, ms | 2,000 | 2,000 | encoded at most 0.5x client-go, is 1.000x: **missed** |",
            "| memory at rest, MB |  | 81.9 | encoded at most 90.0: met |",
            "| peak memory, as a multiple of memory at rest |  | 2.00 | encoded at most 1.30: **missed** |",
        ];
        for row in rows {
            assert!(text.contains(row), "{row} is not in {text}");
        }
    }
}
