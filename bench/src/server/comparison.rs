//! Comparison: a table of the results of two servers, with goals for ours.

use std::fmt::Write as _;

use super::Usage;

/// A goal for our server.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// At most this value, whatever the other server's is.
    AtMost(f64),
    /// At least this multiple of the other server's value: more is better.
    TimesMore(f64),
    /// At most the other server's value divided by this: less is better.
    TimesLess(f64),
    /// No goal. The ratio is printed as for [`TimesLess`](Self::TimesLess).
    None,
}

/// The tables of `docs/benchmarks.md`: results and CPU time.
#[derive(Debug)]
pub struct Comparison {
    names: [String; 2],
    rows: String,
    costs: String,
}

impl Comparison {
    /// Creates empty tables for another server and ours.
    pub fn new(other: &str, ours: &str) -> Self {
        Self { names: [other.to_owned(), ours.to_owned()], rows: String::new(), costs: String::new() }
    }

    /// Adds a row with a value of each server; `other` is `None` if only ours is measured.
    pub fn row(&mut self, what: &str, other: Option<f64>, ours: f64, goal: Goal) {
        let ratio = other.map(|other| match goal {
            Goal::TimesMore(_) => ours / other,
            Goal::AtMost(_) | Goal::TimesLess(_) | Goal::None => other / ours,
        });
        let (wanted, met) = match goal {
            Goal::AtMost(most) => (format!("at most {}", number(most)), Some(ours <= most)),
            Goal::TimesMore(times) => (format!("{times}x as many"), ratio.map(|ratio| ratio >= times)),
            Goal::TimesLess(times) => (format!("1/{times}"), ratio.map(|ratio| ratio >= times)),
            Goal::None => (String::new(), None),
        };
        let shown = match (ratio, goal) {
            (None, _) => String::new(),
            (Some(ratio), Goal::TimesMore(_)) => format!("{ratio:.1}x"),
            (Some(ratio), _) => format!("1/{ratio:.1}"),
        };
        let met = match met {
            None => "",
            Some(true) => ": met",
            Some(false) => ": **missed**",
        };
        let other = other.map(number).unwrap_or_default();
        let _ = writeln!(self.rows, "| {what} | {other} | {} | {shown} | {wanted}{met} |", number(ours));
    }

    /// Adds a row with the CPU time per unit, of the server and of the load generator. Each argument is the CPU time and
    /// the number of units.
    pub fn cost(&mut self, what: &str, other: Option<(Usage, f64)>, ours: (Usage, f64)) {
        let micros = |(usage, units): (Usage, f64)| {
            let each = |seconds: f64| number(seconds * 1e6 / units.max(1.0));
            format!("{} | {}", each(usage.server), each(usage.load_generator))
        };
        let other = other.map_or(" | ".to_owned(), micros);
        let _ = writeln!(self.costs, "| {what} | {other} | {} |", micros(ours));
    }

    /// Returns both tables as Markdown.
    pub fn render(&self) -> String {
        let Self { names: [other, ours], rows, costs } = self;
        format!(
            "| what | {other} | {ours} | ratio | goal |\n|---|---:|---:|---:|---|\n{rows}\n\
             | CPU time, us | {other} | load generator | {ours} | load generator |\n|---|---:|---:|---:|---:|\n\
             {costs}"
        )
    }
}

/// Formats with three significant digits, or as an integer with grouped digits from 1,000 on.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 1000.0 => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (position, digit) in digits.chars().enumerate() {
                if position > 0 && (digits.len() - position) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            grouped
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_report_whether_their_goals_are_met() {
        let mut table = Comparison::new("other", "ours");
        table.row("events/s", Some(1000.0), 5100.0, Goal::TimesMore(5.0));
        table.row("MB", Some(800.0), 101.0, Goal::TimesLess(8.0));
        table.row("ms", None, 40.0, Goal::AtMost(100.0));
        let text = table.render();
        assert!(text.contains("| events/s | 1,000 | 5,100 | 5.1x | 5x as many: met |"), "{text}");
        assert!(text.contains("| MB | 800 | 101 | 1/7.9 | 1/8: **missed** |"), "{text}");
        assert!(text.contains("| ms |  | 40.0 |  | at most 100: met |"), "{text}");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            [1_234_567.0, 1000.0, 999.4, 12.34, 0.5].map(number),
            ["1,234,567", "1,000", "999", "12.3", "0.50"]
        );
    }
}
