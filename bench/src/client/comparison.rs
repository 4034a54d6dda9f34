//! Comparison: a table of the reports of several clients.

use std::fmt::Write as _;

use super::Report;
use crate::server::number;

/// A number of a report, with its label and unit.
struct Row {
    what: &'static str,
    unit: &'static str,
    of: fn(&Report) -> Option<f64>,
}

const ROWS: [Row; 5] = [
    Row { what: "CPU time", unit: "ms", of: |report| Some(report.cpu.as_secs_f64() * 1e3) },
    Row { what: "time", unit: "ms", of: |report| Some(report.wall.as_secs_f64() * 1e3) },
    Row { what: "p50", unit: "ms", of: |report| Some(report.latency?.p50.as_secs_f64() * 1e3) },
    Row { what: "p99", unit: "ms", of: |report| Some(report.latency?.p99.as_secs_f64() * 1e3) },
    Row { what: "peak memory", unit: "MB", of: |report| Some(report.peak_kibibytes as f64 * 1024.0 / 1e6) },
];

/// The results of several clients; the last one is ours.
#[derive(Debug)]
pub struct Comparison {
    names: Vec<String>,
    text: String,
}

impl Comparison {
    /// Creates an empty table with a column for each client. The last client is ours.
    pub fn new(names: &[&str]) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect(), text: String::new() }
    }

    /// Adds the rows of a job.
    ///
    /// `rounds` has the reports of each client, in the order of the names; it is empty for a client that does not
    /// support the job. Each number is the best of its rounds. `goal` applies to the CPU time: at most this multiple
    /// of the named client's.
    pub fn job(&mut self, what: &str, rounds: &[Vec<Report>], goal: Option<(&str, f64)>) {
        for row in ROWS {
            let best = |reports: &Vec<Report>| reports.iter().filter_map(row.of).min_by(f64::total_cmp);
            let numbers: Vec<Option<f64>> = rounds.iter().map(best).collect();
            let Some((Some(ours), others)) = numbers.split_last() else { continue };
            let _ = write!(self.text, "| {what}: {}, {} |", row.what, row.unit);
            for value in &numbers {
                let _ = write!(self.text, " {} |", value.map(number).unwrap_or_default());
            }
            for other in others {
                let ratio = other.map(|other| format!("{:.2}x", ours / other)).unwrap_or_default();
                let _ = write!(self.text, " {ratio} |");
            }
            let goal = goal.filter(|_| row.what == ROWS[0].what).and_then(|(name, most)| {
                let other = numbers[self.names.iter().position(|known| known == name)?]?;
                let met = if *ours <= other * most { "met" } else { "**missed**" };
                Some(format!("at most {most}x {name}: {met}"))
            });
            let _ = writeln!(self.text, " {} |", goal.unwrap_or_default());
        }
    }

    /// Returns the table as Markdown.
    pub fn render(&self) -> String {
        let mut header = "| what |".to_owned();
        let mut rule = "|---|".to_owned();
        for name in &self.names {
            let _ = write!(header, " {name} |");
            rule.push_str("---:|");
        }
        for name in self.names.split_last().map_or(&[][..], |(_, others)| others) {
            let _ = write!(header, " to {name} |");
            rule.push_str("---:|");
        }
        format!("{header} goal |\n{rule}---|\n{}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(name: &str, cpu: [&str; 2]) -> Vec<Report> {
        let line = |cpu| format!("{name} list-raw objects=2 wall=2.000s cpu={cpu}s VmHWM: 1000 kB");
        cpu.iter().map(|cpu| line(cpu).parse().unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    #[test]
    fn the_best_round_is_compared_with_the_goal() {
        let mut comparison = Comparison::new(&["a", "b", "ours"]);
        let rounds = [reports("a", ["1.0", "0.8"]), Vec::new(), reports("ours", ["0.4", "9.0"])];
        comparison.job("list", &rounds, Some(("a", 0.5)));
        comparison.job("list", &rounds, Some(("a", 0.4)));
        let text = comparison.render();
        let row = "| list: CPU time, ms | 800 |  | 400 | 0.50x |  | at most 0.5x a: met |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| at most 0.4x a: **missed** |"), "{text}");
        assert!(text.contains("| list: time, ms | 2,000 |  | 2,000 | 1.00x |  |  |"), "{text}");
        assert!(text.starts_with("| what | a | b | ours | to a | to b | goal |\n"), "{text}");
    }
}
