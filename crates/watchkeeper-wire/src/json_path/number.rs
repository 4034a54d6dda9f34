//! Numbers as Go compares and formats them.

use std::cmp::Ordering;
use std::fmt;

/// An integer or a float.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Whole(i128),
    Float(f64),
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Self::Whole(whole.into()),
            (None, Some(whole)) => Self::Whole(whole.into()),
            (None, None) => Self::Float(number.as_f64().unwrap_or_default()),
        }
    }
}

impl Number {
    /// Compares two numbers of the same type.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Some(one.cmp(other)),
            (Self::Float(one), Self::Float(other)) => one.partial_cmp(other),
            _ => None,
        }
    }
}

/// Uses an exponent of at least two digits for very large and very small floats.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self {
            Self::Whole(whole) => return write!(f, "{whole}"),
            Self::Float(number) => *number,
        };
        if number == 0.0 || (1e-4..1e6).contains(&number.abs()) {
            return write!(f, "{number}");
        }
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        write!(f, "{digits}e{sign}{exponent:0>2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_as_in_go() {
        let shown = |number: f64| Number::Float(number).to_string();
        let cases = [
            (1.5, "1.5"),
            (123456.0, "123456"),
            (1e6, "1e+06"),
            (1234567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.0, "0"),
        ];
        for (number, expected) in cases {
            assert_eq!(shown(number), expected);
        }
        assert_eq!(shown(-2.5e-7), "-2.5e-07");
        assert_eq!(Number::Whole(7).to_string(), "7");
    }
}
