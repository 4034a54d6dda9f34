//! Query parameters.
//!
//! Input: the request line.
//! Output: [`options`](crate::http::options), which interpret the parameters.
//!
//! - For a repeated parameter the first value counts, unless the parameter is a list.
//! - A parameter that cannot be decoded (`a=%zz`, `a=1;b=2`) is ignored.
//! - A boolean is true unless it is `false` or `0`, in any case; `?watch` and `?watch=` are true.

use watchkeeper_core::Status;

use super::go_text::parse_i64;

/// The query parameters of a request, in order.
///
/// ```
/// use watchkeeper_apiserver::http::Query;
///
/// let query = Query::parse("labelSelector=a%3Db&watch&limit=5");
/// assert_eq!(query.first("labelSelector"), Some("a=b"));
/// assert_eq!(query.switch("watch"), Some(true));
/// assert_eq!(query.switch("pretty"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Parses the text after the `?`. Never fails: parameters that cannot be decoded are skipped.
    pub fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key, Plus::IsSpace)?, decode(value, Plus::IsSpace)?))
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        Self { pairs: pairs.filter_map(pair).collect() }
    }

    /// Returns the first value of a parameter.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all values of a parameter.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first value, or an empty text, which is equivalent to no value.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    /// Returns a parameter as a boolean, or `None` if it is missing. Only `false`, in any case, and `0` are false.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Returns a parameter as an integer, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns 400 if the value is not a number; an empty value is not one.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let number = self.first(name).map(parse_i64).transpose();
        number.map_err(|error| Status::bad_request(error.to_string()))
    }
}

/// The meaning of `+`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    IsSpace,
    IsPlus,
}

/// Decodes `%XX`; returns `None` if two hexadecimal digits do not follow. Invalid UTF-8 becomes replacement
/// characters.
pub(crate) fn decode(text: &str, plus: Plus) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                (high << 4 | low) as u8
            }
            b'+' if plus == Plus::IsSpace => b' ',
            byte => byte,
        });
    }
    Some(
        String::from_utf8(decoded)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undecodable_parameters_are_ignored() {
        let query = Query::parse("a=%zz&b=%4&c=1;d=2&&=x&e=%C3%A4+%2B&f=%ff");
        assert_eq!(
            query.pairs,
            [("".into(), "x".into()), ("e".into(), "\u{e4} +".into()), ("f".into(), "\u{fffd}".into())]
        );
    }

    #[test]
    fn the_first_value_counts() {
        let query = Query::parse("limit=1&limit=abc&dryRun=All&dryRun=x");
        assert_eq!(query.number("limit"), Ok(Some(1)));
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", "x"]);
    }

    #[test]
    fn a_boolean_is_true_unless_it_is_false_or_0() {
        for (text, on) in [("w", true), ("w=", true), ("w=no", true), ("w=0", false), ("w=FALSE", false)] {
            assert_eq!(Query::parse(text).switch("w"), Some(on), "{text}");
        }
    }
}
