//! Comparison: a table of the reports of several queues.

use std::fmt::Write as _;

use super::Report;
use crate::server::number;

/// A number of a report, with its label.
struct Row {
    what: &'static str,
    of: fn(&Report) -> Option<f64>,
}

const ROWS: [Row; 4] = [
    Row { what: "time, ms", of: |report| Some(report.wall.as_secs_f64() * 1e3) },
    Row { what: "CPU time, ms", of: |report| Some(report.cpu.as_secs_f64() * 1e3) },
    Row { what: "lateness p50, us", of: |report| Some(report.late?.p50.as_secs_f64() * 1e6) },
    Row { what: "lateness p99, us", of: |report| Some(report.late?.p99.as_secs_f64() * 1e6) },
];

/// The results of several queues; the last one is ours.
#[derive(Debug)]
pub struct Comparison {
    names: Vec<&'static str>,
    text: String,
}

impl Comparison {
    /// Creates an empty table with a column for each queue. The last queue is ours.
    pub fn new(names: &[&'static str]) -> Self {
        Self { names: names.to_vec(), text: String::new() }
    }

    /// Adds the rows of a job.
    ///
    /// `rounds` has the reports of each queue, in the order of the names. Each number is the median of its rounds.
    /// `goal` is the index of a row, and the largest acceptable multiple of the first queue's value in it.
    pub fn job(&mut self, what: &str, rounds: &[Vec<Report>], goal: Option<(usize, f64)>) {
        for (index, row) in ROWS.iter().enumerate() {
            let numbers: Vec<Option<f64>> = rounds.iter().map(|reports| median(reports, row.of)).collect();
            let Some((&Some(ours), others)) = numbers.split_last() else { continue };
            let _ = write!(self.text, "| {what}: {} |", row.what);
            for value in &numbers {
                let _ = write!(self.text, " {} |", value.map(number).unwrap_or_default());
            }
            for other in others {
                let ratio = other.map(|other| format!("{:.2}x", ours / other)).unwrap_or_default();
                let _ = write!(self.text, " {ratio} |");
            }
            let goal = goal.filter(|(row, _)| *row == index).and_then(|(_, most)| {
                let met = if ours <= (*others.first()?)? * most { "met" } else { "**missed**" };
                Some(format!("at most {most:.2}x {}: {met}", self.names.first()?))
            });
            let _ = writeln!(self.text, " {} |", goal.unwrap_or_default());
        }
    }

    /// Returns the table as Markdown.
    pub fn render(&self) -> String {
        let others = self.names.split_last().map_or(&[][..], |(_, others)| others);
        let mut header = "| what |".to_owned();
        for name in &self.names {
            let _ = write!(header, " {name} |");
        }
        for name in others {
            let _ = write!(header, " to {name} |");
        }
        let rule = "---:|".repeat(self.names.len() + others.len());
        format!("{header} goal |\n|---|{rule}---|\n{}", self.text)
    }
}

fn median(reports: &[Report], of: fn(&Report) -> Option<f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = reports.iter().filter_map(of).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(walls: &[&str]) -> Vec<Report> {
        let line = |wall| format!("x hand-out keys=1 wall={wall}s cpu=1s");
        walls.iter().map(|wall| line(wall).parse().unwrap_or_else(|error| panic!("{error}"))).collect()
    }

    #[test]
    fn the_median_is_compared_with_the_goal() {
        let mut comparison = Comparison::new(&["a", "ours"]);
        let rounds = [reports(&["3", "9", "4"]), reports(&["1", "2", "0.5"])];
        comparison.job("keys", &rounds, Some((0, 0.25)));
        comparison.job("keys", &rounds, Some((0, 0.2)));
        let text = comparison.render();
        assert!(text.starts_with("| what | a | ours | to a | goal |\n|---|---:|---:|---:|---|\n"), "{text}");
        let row = "| keys: time, ms | 4,000 | 1,000 | 0.25x | at most 0.25x a: met |\n";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| at most 0.20x a: **missed** |"), "{text}");
        assert!(!text.contains("late"), "{text}");
    }
}
