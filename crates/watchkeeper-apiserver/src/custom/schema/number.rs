//! Numbers: bounds and ranges.

use serde_json::{Number, Value, json};

use super::node::{Node, Width};
use super::outcome::{Breach, Outcome};
use crate::patch::go_text;

/// A number as Go decodes it: a 64-bit integer if it was written as one, else a float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Held {
    Int(i64),
    Float(f64),
}

impl Held {
    pub(super) fn of(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::INFINITY)), Self::Int)
    }

    fn float(self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "as the real server does")]
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Int(number) => json!(number),
            Self::Float(number) => json!(number),
        }
    }
}

/// Returns whether a float counts as an integer.
pub(super) fn is_whole(number: f64) -> bool {
    /// The largest integer below which floats are exact.
    const SAFE: f64 = 9_007_199_254_740_991.0;
    const EPSILON: f64 = 1e-9;
    if !number.is_finite() || number.abs() > SAFE {
        return false;
    }
    let whole = number.trunc();
    if whole == number {
        return true;
    }
    // As in Go, for which the whole part of a negative number is its ceiling.
    let whole = if number < 0.0 { number.ceil() } else { whole };
    whole != 0.0 && number > 0.0 && (number - whole).abs() / (number.abs() + whole.abs()) < EPSILON
}

/// Checks the bounds of a number.
pub(super) fn check(node: &Node, name: &str, number: &Number) -> Outcome {
    let number = Held::of(number);
    let mut outcome = Outcome::default();
    in_width(node, number, "Checked", name, &mut outcome);
    if let Some(factor) = node.multiple_of {
        let is_native = in_width(node, Held::Float(factor), "MultipleOf", name, &mut outcome);
        multiple(number, factor, is_native, name, &mut outcome);
    }
    if let Some(least) = node.least {
        let is_native = in_width(node, Held::Float(least), "Minimum boundary", name, &mut outcome);
        let words = if node.is_above_least { "greater than" } else { "greater than or equal to" };
        let is_broken = |order: std::cmp::Ordering| order.is_lt() || (node.is_above_least && order.is_eq());
        bound(number, least, is_native, words, is_broken, name, &mut outcome);
    }
    if let Some(most) = node.most {
        let is_native = in_width(node, Held::Float(most), "Maximum boundary", name, &mut outcome);
        let words = if node.is_below_most { "less than" } else { "less than or equal to" };
        let is_broken = |order: std::cmp::Ordering| order.is_gt() || (node.is_below_most && order.is_eq());
        bound(number, most, is_native, words, is_broken, name, &mut outcome);
    }
    outcome.matches += 1;
    outcome
}

fn bound(
    number: Held,
    limit: f64,
    is_native: bool,
    words: &str,
    is_broken: impl Fn(std::cmp::Ordering) -> bool,
    name: &str,
    outcome: &mut Outcome,
) {
    let (order, shown) = match number {
        #[expect(clippy::cast_possible_truncation, reason = "as the real server does")]
        Held::Int(number) if is_native => {
            let limit = limit as i64;
            (Some(number.cmp(&limit)), limit.to_string())
        }
        number => (number.float().partial_cmp(&limit), go_text(&json!(limit))),
    };
    if order.is_some_and(is_broken) {
        let value = if is_native { number.value() } else { json!(number.float()) };
        outcome.add(Breach::invalid(name, &value, format!("{name} in body should be {words} {shown}")));
    }
}

fn multiple(number: Held, factor: f64, is_native: bool, name: &str, outcome: &mut Outcome) {
    let not_positive = |shown: Value| {
        let message = format!("factor MultipleOf declared for {name} must be positive: {}", go_text(&shown));
        Breach::invalid(name, &shown, message)
    };
    let not_multiple = |shown: &str, value: &Value| {
        Breach::invalid(name, value, format!("{name} in body should be a multiple of {shown}"))
    };
    match number {
        #[expect(clippy::cast_possible_truncation, reason = "as the real server does")]
        Held::Int(number) if is_native => {
            let factor = factor as i64;
            if factor <= 0 {
                outcome.add(not_positive(json!(factor)));
            } else if number % factor != 0 {
                outcome.add(not_multiple(&factor.to_string(), &json!(number)));
            }
        }
        number => {
            let value = number.float();
            let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            if factor <= 0.0 {
                outcome.add(not_positive(json!(factor)));
            } else if !is_whole(times) {
                outcome.add(not_multiple(&go_text(&json!(factor)), &json!(value)));
            }
        }
    }
}

/// Returns whether a number is in the range of its type and format.
fn in_width(node: &Node, number: Held, what: &str, name: &str, outcome: &mut Outcome) -> bool {
    let kind = match node.kinds() {
        [kind @ ("integer" | "number")] => *kind,
        _ => "",
    };
    let (fits, format) = match (kind, node.width) {
        ("integer", width) => {
            let whole = match number {
                Held::Int(number) => Some(number),
                #[expect(clippy::cast_possible_truncation, reason = "only of a number within the bounds")]
                Held::Float(number) => {
                    let is_held = number.trunc() == number && number.abs() < 9_223_372_036_854_775_808.0;
                    is_held.then_some(number as i64)
                }
            };
            match width {
                Some(Width::Int32) => (whole.is_some_and(|it| i32::try_from(it).is_ok()), "int32"),
                Some(Width::Int64) => (whole.is_some(), "int64"),
                _ => (whole.is_some(), ""),
            }
        }
        ("number", Some(Width::Float)) => (number.float().abs() <= f64::from(f32::MAX), "float"),
        _ => (true, ""),
    };
    if !fits {
        let form = match format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        outcome.add(Breach::nowhere(format!("{what} value must be of type {kind} {form} in {name}")));
    }
    fits
}
