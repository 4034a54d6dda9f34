//! Cron schedules: five fields, or a descriptor.

use watchkeeper_core::Quoted;

use crate::http::parse_duration;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WORDS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// The range of a field.
struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: &MONTHS },
    Bounds { least: 0, most: 6, names: &DAYS },
];

/// Checks a schedule, with the error messages of kube-apiserver's cron library.
pub(super) fn check(text: &str) -> Result<(), String> {
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        return Ok(()); // refused by the caller
    }
    if text.starts_with('@') {
        return descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.into_iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn descriptor(text: &str) -> Result<(), String> {
    if WORDS.contains(&text) {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        Some(duration) => match parse_duration(duration) {
            Ok(_) => Ok(()),
            Err(why) => Err(format!("failed to parse duration {text}: {why}")),
        },
        None => Err(format!("unrecognized descriptor: {text}")),
    }
}

fn check_range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.least, bounds.most),
        [only] => {
            let only = number_or_name(only, bounds)?;
            (only, only)
        }
        [start, end] => (number_or_name(start, bounds)?, number_or_name(end, bounds)?),
        [start, ..] => {
            number_or_name(start, bounds)?;
            return Err(format!("too many hyphens: {text}"));
        }
        [] => return Ok(()),
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                end = bounds.most;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    let Bounds { least, most, .. } = bounds;
    if start < *least {
        return Err(format!("beginning of range ({start}) below minimum ({least}): {text}"));
    }
    if end > *most {
        return Err(format!("end of range ({end}) above maximum ({most}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let at = bounds.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match at {
        Some(at) => Ok(at as u64 + bounds.least),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    match text.parse::<i64>() {
        Ok(number) => {
            u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
        }
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax",
            Quoted(text)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_parsed_like_cron() {
        for good in
            ["* * * * *", "*/5 0-6 1,15 JAN mon-fri", "@hourly", "@every 1h30m", "0 22 * * 1-5", "? ? ? ? ?"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1/2/3 * * * *", "too many slashes: 1/2/3"),
            ("@often", "unrecognized descriptor: @often"),
        ] {
            assert_eq!(check(bad), Err(why.to_owned()), "{bad}");
        }
    }
}
