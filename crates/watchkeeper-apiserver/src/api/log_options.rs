//! Log options: translates them into the kubelet's parameters.

use crate::http::Query;
use watchkeeper_core::{CauseType, GroupKind, Status, StatusCause, Timestamp};

/// Returns the options of a log as parameters of the kubelet.
///
/// # Errors
/// Returns 400 for unreadable values; 422 for invalid ones.
pub(super) fn log_options(query: &Query, pod: &str) -> Result<Vec<(&'static str, String)>, Status> {
    let (tail, limit) = (query.number("tailLines")?, query.number("limitBytes")?);
    let (seconds, time) = (query.number("sinceSeconds")?, since_time(query)?);
    let least = |field: &str, number: Option<i64>, least: i64, rule: &str| {
        let number = number.filter(|number| *number < least)?;
        let message = format!("Invalid value: {number}: {rule}");
        Some(StatusCause { cause: CauseType::FieldValueInvalid, field: field.to_owned(), message })
    };
    let forbidden = |field: &str, why: &str| StatusCause {
        cause: CauseType::FieldValueForbidden,
        field: field.to_owned(),
        message: format!("Forbidden: {why}"),
    };
    let positive = "must be greater than 0";
    let mut faults = Vec::new();
    faults.extend(least("tailLines", tail, 0, "must be greater than or equal to 0"));
    faults.extend(least("limitBytes", limit, 1, positive));
    match (seconds, time) {
        (Some(_), Some(_)) => {
            let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            faults.push(forbidden("[]", why));
        }
        _ => faults.extend(least("sinceSeconds", seconds, 1, positive)),
    }
    if query.first("stream").is_some() {
        faults.push(forbidden("stream", "may not be specified"));
    }
    if !faults.is_empty() {
        let kind = GroupKind { group: String::new(), kind: "PodLogOptions".to_owned() };
        return Err(Status::invalid(&kind, pod, faults));
    }
    let mut options = Vec::new();
    for name in ["follow", "previous", "timestamps"] {
        if query.switch(name) == Some(true) {
            options.push((name, "true".to_owned()));
        }
    }
    options.extend(seconds.map(|number| ("sinceSeconds", number.to_string())));
    options.extend(time.map(|time| ("sinceTime", time.to_string())));
    options.extend(tail.map(|number| ("tailLines", number.to_string())));
    options.extend(limit.map(|number| ("limitBytes", number.to_string())));
    Ok(options)
}

fn since_time(query: &Query) -> Result<Option<Timestamp>, Status> {
    match query.first("sinceTime") {
        None => Ok(None),
        Some("" | "null") => Ok(Some(Timestamp::GO_ZERO)),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|error: watchkeeper_core::TimestampError| Status::bad_request(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<String, String> {
        let options = log_options(&Query::parse(query), "p");
        let options = options.map_err(|status| format!("{} {}", status.code, status.message))?;
        Ok(options.iter().map(|(name, value)| format!("{name}={value} ")).collect())
    }

    #[test]
    fn log_options_become_kubelet_parameters() {
        assert_eq!(read("container=c&pretty=1"), Ok(String::new()));
        assert_eq!(read("follow=maybe&previous=0&timestamps"), Ok("follow=true timestamps=true ".to_owned()));
        assert_eq!(
            read("tailLines=0&limitBytes=1&sinceTime=2020-01-02T03:04:05%2B01:00"),
            Ok("sinceTime=2020-01-02T02:04:05Z tailLines=0 limitBytes=1 ".to_owned())
        );
    }

    #[test]
    fn invalid_log_options_are_refused_in_upstream_words() {
        let refused = |query: &str| read(query).unwrap_err();
        assert_eq!(refused("tailLines=abc"), r#"400 strconv.ParseInt: parsing "abc": invalid syntax"#);
        let rule = r#"422 PodLogOptions "p" is invalid: "#;
        assert_eq!(
            refused("tailLines=-1"),
            format!("{rule}tailLines: Invalid value: -1: must be greater than or equal to 0")
        );
        assert_eq!(
            refused("limitBytes=0"),
            format!("{rule}limitBytes: Invalid value: 0: must be greater than 0")
        );
        assert_eq!(
            refused("sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z"),
            format!("{rule}[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified")
        );
        assert_eq!(refused("stream=All"), format!("{rule}stream: Forbidden: may not be specified"));
    }
}
