//! Formats: whether a string is a date, an address, a name and so on, by kube-apiserver's rules.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::Pattern;
use crate::http::go_text::parse_duration;
use crate::validate::address::{Range, address};
use crate::validate::syntax::{label, subdomain};

/// Letters and signs of any script, for [`hostname`].
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
    #[expect(clippy::expect_used, reason = "a constant, compiled by the tests")]
    Regex::new(pattern).expect("the pattern of host names is well formed")
});

static RGB_COLOR: LazyLock<Option<Pattern>> = LazyLock::new(|| {
    let part = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    Pattern::compile(&format!(r"^rgb\({part},{part},{part}\)$")).ok()
});

/// Returns whether a string has a format.
type Check = fn(&str) -> bool;

/// A string format.
#[derive(Debug, Clone)]
pub(super) struct Format {
    name: String,
    check: Check,
}

impl Format {
    /// Returns the format with a name; `None` if kube-apiserver does not know it, and so accepts any string.
    pub(super) fn named(name: &str) -> Option<Self> {
        let check: Check = match name.replace('-', "").as_str() {
            "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "uri" => request_uri,
            "email" => email,
            "hostname" => hostname,
            "ipv4" => |text| address(text).is_some() && text.contains('.'),
            "ipv6" => |text| text.contains(':') && text.parse::<std::net::Ipv6Addr>().is_ok(),
            "cidr" => |text| Range::of(text).is_some(),
            "mac" => mac,
            "uuid" => |text| uuid(text, None, b""),
            "uuid3" => |text| uuid(text, Some(b'3'), b""),
            "uuid4" => |text| uuid(text, Some(b'4'), b"89ab"),
            "uuid5" => |text| uuid(text, Some(b'5'), b"89ab"),
            "isbn" => |text| isbn_10(text) || isbn_13(text),
            "isbn10" => isbn_10,
            "isbn13" => isbn_13,
            "creditcard" => credit_card,
            "ssn" => ssn,
            "hexcolor" => hex_color,
            "rgbcolor" => |text| RGB_COLOR.as_ref().is_some_and(|pattern| pattern.is_in(text)),
            "byte" => base64,
            "password" => |_| true,
            "date" => date,
            "duration" => duration,
            "datetime" => date_time,
            "k8sshortname" => |text| label(text).is_empty(),
            "k8slongname" => |text| subdomain(text).is_empty(),
            _ => return None,
        };
        Some(Self { name: name.to_owned(), check })
    }

    /// Like [`named`](Self::named), but an unknown format is one that every string has.
    pub(super) fn any_named(name: &str) -> Self {
        Self::named(name).unwrap_or_else(|| Self { name: name.to_owned(), check: |_| true })
    }

    /// Returns the name as it stands in the schema.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a string has the format.
    pub(super) fn fits(&self, text: &str) -> bool {
        (self.check)(text)
    }
}

fn date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date, a `T`, and a time with its zone. Anything after a second `T` is ignored.
fn date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(day), Some(time)) = (parts.next(), parts.next()) else { return false };
    date(day) && time_of_day(time).unwrap_or(false)
}

fn time_of_day(text: &str) -> Option<bool> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (clock, mut rest) = (text.get(..8)?, text.get(8..)?);
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return None };
    if [hour, minute, second].iter().any(|part| part.len() != 2 || !is_digits(part)) {
        return None;
    }
    // Any character may precede a fraction, as in kube-apiserver's pattern.
    let mut after = rest.chars();
    if after.next().is_some() {
        let digits = after.as_str().trim_start_matches(|c: char| c.is_ascii_digit());
        let is_zone = |text: &str| {
            let zone = text.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':'));
            text == "z"
                || zone.is_some_and(|(hours, minutes)| {
                    hours.len() == 2 && minutes.len() == 2 && is_digits(hours) && is_digits(minutes)
                })
        };
        if !is_zone(rest) && digits.len() < after.as_str().len() {
            rest = digits;
        }
        if !is_zone(rest) {
            return None;
        }
        return Some(*hour <= "23" && *minute <= "59" && *second <= "59");
    }
    None
}

/// A Go duration, or any string with a number before a unit.
fn duration(text: &str) -> bool {
    /// The last of each is a prefix, the others are whole words.
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    if parse_duration(text).is_ok() {
        return true;
    }
    let is_unit = |word: &str| {
        UNITS.iter().any(|names| {
            let (last, whole) = names.split_last().unwrap_or((&"", &[]));
            word.starts_with(last) || whole.contains(&word)
        })
    };
    let (mut rest, mut is_found) = (text, false);
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let letters =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == 'µ').len();
        let (word, after) = after.split_at(letters);
        rest = after;
        if word.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        is_found |= is_unit(&word.to_lowercase());
    }
    is_found
}

fn hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

fn mac(text: &str) -> bool {
    let (separator, digits) = match (text.as_bytes().get(2), text.as_bytes().get(4)) {
        (Some(b':'), _) => (':', 2),
        (Some(b'-'), _) => ('-', 2),
        (_, Some(b'.')) => ('.', 4),
        _ => ('.', text.len()),
    };
    let is_hex = |part: &str| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = text.split(separator).count();
    digits.is_multiple_of(2) && matches!(parts * digits / 2, 6 | 8 | 20) && text.split(separator).all(is_hex)
}

/// 32 hexadecimal digits, with optional hyphens.
fn uuid(text: &str, version: Option<u8>, variants: &[u8]) -> bool {
    let (mut rest, mut digits) = (text.as_bytes(), Vec::with_capacity(32));
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        digits.extend(part.to_ascii_lowercase());
        rest = after;
    }
    rest.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| digits[12] == version)
        && (variants.is_empty() || variants.contains(&digits[16]))
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-')).collect()
}

fn isbn_10(text: &str) -> bool {
    let text = without_spaces(text);
    let Some((digits, check)) = text.as_bytes().split_at_checked(9).filter(|(_, check)| check.len() == 1)
    else {
        return false;
    };
    let check = match check[0] {
        b'X' => 10,
        digit @ b'0'..=b'9' => u32::from(digit - b'0'),
        _ => return false,
    };
    let sum: u32 =
        (1..).zip(digits).map(|(factor, digit)| factor * u32::from(digit.wrapping_sub(b'0'))).sum();
    digits.iter().all(u8::is_ascii_digit) && (sum + 10 * check).is_multiple_of(11)
}

fn isbn_13(text: &str) -> bool {
    let text = without_spaces(text);
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    if text.len() != 13 || digits.len() != 13 {
        return false;
    }
    let sum: u32 =
        digits[..12].iter().enumerate().map(|(at, digit)| digit * if at % 2 == 0 { 1 } else { 3 }).sum();
    digits[12] == (10 - sum % 10) % 10
}

fn credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| number.starts_with(prefix));
    let has_form = match number.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let double = |digit: u32| if digit >= 5 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { double(*digit) } else { *digit })
        .sum();
    has_form && sum.is_multiple_of(10)
}

/// Eleven characters, with both separators.
fn ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, byte)| match at {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}

fn hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Base64 with its padding, and not empty.
fn base64(text: &str) -> bool {
    let data = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !data.is_empty()
        && text.len().is_multiple_of(4)
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// An address, with an optional name before it.
fn email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_atom = |part: &str| {
        let is_letter = |c: char| {
            c.is_ascii_alphanumeric()
                || (!c.is_ascii() && !c.is_control())
                || "!#$%&'*+-/=?^_`{|}~".contains(c)
        };
        !part.is_empty() && part.chars().all(is_letter)
    };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    (is_quoted || local.split('.').all(is_atom))
        && match is_literal {
            Some(literal) => address_literal(literal),
            None => domain.split('.').all(is_atom),
        }
}

fn address_literal(text: &str) -> bool {
    let text = text.strip_prefix("IPv6:").unwrap_or(text);
    text.parse::<std::net::IpAddr>().is_ok()
}

/// An absolute URI or a path, as in a request line.
fn request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte.is_ascii_control()) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let is_escaped = |text: &str| {
        text.split('%').skip(1).all(|part| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
    };
    let scheme = text.split_once(':').filter(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    let rest = match scheme {
        Some((_, rest)) if !rest.starts_with('/') => return true,
        Some((_, rest)) => rest,
        None if text.starts_with('/') => text,
        None => return false,
    };
    let before_query = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let Some(after) =
        before_query.strip_prefix("//").filter(|_| scheme.is_some() || !rest.starts_with("///"))
    else {
        return is_escaped(before_query);
    };
    let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match host.rfind(']') {
        Some(end) => host.split_at(end + 1),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let is_host =
        !name.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}', '#']) && is_escaped(name);
    is_port && (is_host || name.is_empty()) && is_escaped(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_the_strings_that_kube_apiserver_accepts() {
        let cases: [(&str, &[&str], &[&str]); 25] = [
            (
                "date",
                &["2026-02-28", "2024-02-29"],
                &["2026-02-29", "2026-13-01", "26-1-1", "2026-02-28x", ""],
            ),
            (
                "date-time",
                &["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.123+01:00", "2026-01-02T03:04:05x1Z"],
                &["2026-01-02", "2026-01-02T24:04:05Z", "2026-01-02T03:04:05", "2026-01-02T03:04:60Z"],
            ),
            ("datetime", &["2026-01-02T03:04:05z"], &["x"]),
            ("ipv4", &["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"], &["10.0.0", "::1", "a"]),
            ("ipv6", &["::1", "2001:db8::1"], &["10.0.0.1", "::g", "fe80::1%eth0"]),
            ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]),
            (
                "mac",
                &["01:23:45:67:89:ab", "0123.4567.89ab", "01-23-45-67-89-AB", "0123456789ab"],
                &["01:23", "0123456789abc"],
            ),
            (
                "uuid",
                &["AF01FB4C-5d3e-4c2e-8f0a-0123456789ab", "af01fb4c5d3e4c2e8f0a0123456789ab"],
                &["af01"],
            ),
            ("uuid3", &["af01fb4c-5d3e-3c2e-8f0a-0123456789ab"], &["af01fb4c-5d3e-4c2e-8f0a-0123456789ab"]),
            ("uuid4", &["af01fb4c-5d3e-4c2e-8f0a-0123456789ab"], &["af01fb4c-5d3e-4c2e-cf0a-0123456789ab"]),
            ("uuid5", &["af01fb4c-5d3e-5c2e-af0a-0123456789ab"], &["af01fb4c-5d3e-4c2e-8f0a-0123456789ab"]),
            ("byte", &["YWI=", "YWJj", "YQ=="], &["", "YWI", "====", "YW!="]),
            ("duration", &["1h30m", "-5s", "22 ns", "3 days", "1 week"], &["", "h", "5", "1 fortnight"]),
            ("hostname", &["example.com", "a", "a-b.example.org"], &["", "-a", "a_b", "example.c"]),
            ("email", &["a@b.c", "A B <a@b.c>", "\"a b\"@c"], &["a", "@b", "a@", "a b@c", "a@b..c"]),
            (
                "uri",
                &["http://a.b/c?d#e", "/a", "mailto:a@b", "http://a:80"],
                &["", "a.b", "./a", "http://a:b/", "/%zz"],
            ),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044", ""]),
            ("isbn10", &["0321751043"], &["978-0321751041"]),
            ("isbn13", &["978-0321751041"], &["0321751043"]),
            ("creditcard", &["4111-1111-1111-1111"], &["4111-1111-1111-1112", "x"]),
            ("ssn", &["111-22-3333"], &["111223333", "11-22-33333"]),
            ("hexcolor", &["#fff", "A0b1C2"], &["#ff", "ggg"]),
            ("rgbcolor", &["rgb(1, 2,255)"], &["rgb(1,2,256)", "rgb(1,2)"]),
            ("k8s-short-name", &["a-b"], &["a.b", "A", ""]),
            ("k8s-long-name", &["a.b-c"], &["a..b", "A.b"]),
        ];
        for (name, has, has_not) in cases {
            let format = Format::named(name).unwrap();
            for text in has {
                assert!(format.fits(text), "{name}: {text:?}");
            }
            for text in has_not {
                assert!(!format.fits(text), "{name}: {text:?}");
            }
        }
    }

    #[test]
    fn an_unknown_format_is_ignored() {
        assert!(Format::named("int32").is_none() && Format::named("fancy").is_none());
        assert!(Format::named("password").unwrap().fits("anything"));
    }
}
