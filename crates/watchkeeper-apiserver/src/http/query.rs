//! Query: the parameters behind the `?` of a request, and what their texts mean.
//!
//! From: the request line.
//! To:   [`options`](crate::http::options), which know the names.
//!
//! - A parameter that is given more than once counts by its first value, except where it is a list.
//! - A parameter that cannot be decoded (`a=%zz`, `a=1;b=2`) is not there at all.
//! - A switch is on unless it says `false` or `0`, in any case; `?watch` and `?watch=` are on.

use watchkeeper_core::Status;

use super::go_text::parse_i64;

/// The parameters of one request, in their order.
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
    /// Reads what stands behind the `?`. Never fails: what cannot be decoded is left out.
    pub fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key, Plus::IsSpace)?, decode(value, Plus::IsSpace)?))
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
        Self { pairs: pairs.filter_map(pair).collect() }
    }

    /// The first value of a parameter.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a parameter.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value, or the empty text, which says the same as no value.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    /// Whether a switch is on; `None` where it is not there.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A whole number; `None` where it is not there.
    ///
    /// # Errors
    /// 400 where it is there and is no number; an empty value is none.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let number = self.first(name).map(parse_i64).transpose();
        number.map_err(|error| Status::bad_request(error.to_string()))
    }
}

/// What a plus stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plus {
    IsSpace,
    IsPlus,
}

/// Decodes `%XX`; `None` where two hexadecimal digits do not follow. Bytes that are not UTF-8 become
/// replacement characters.
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
    fn what_cannot_be_decoded_is_not_there() {
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
    fn a_switch_is_on_unless_it_says_not() {
        for (text, on) in [("w", true), ("w=", true), ("w=no", true), ("w=0", false), ("w=FALSE", false)] {
            assert_eq!(Query::parse(text).switch("w"), Some(on), "{text}");
        }
    }
}
