//! Retries: which requests are tried again, and when.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};

use crate::transport::TransportError;

/// The longest `Retry-After` that is waited for. A request whose server asks for more fails with
/// [`RequestError::RetryAfter`](super::RequestError::RetryAfter) at once.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// How often, and after how long, a request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How often at most; 10 by default.
    pub times: u32,
    /// How long to wait at least, besides what the server asks for; not at all by default.
    pub backoff: Option<Backoff>,
}

impl Default for Retries {
    fn default() -> Self {
        Self { times: 10, backoff: None }
    }
}

impl Retries {
    /// None: what fails has failed.
    pub const NONE: Self = Self { times: 0, backoff: None };
}

/// Waits that double.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The first one.
    pub first: Duration,
    /// The longest one.
    pub most: Duration,
}

impl Backoff {
    fn after(&self, attempt: u32) -> Duration {
        self.first.saturating_mul(2u32.saturating_pow(attempt)).min(self.most)
    }
}

/// What a request is for, as far as retries go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Exchange,
    Stream,
    Watch,
}

/// What came of one attempt.
pub(super) enum Attempt<'a> {
    Answered(StatusCode, &'a HeaderMap),
    Failed(&'a TransportError),
}

/// After how long to try again; `None` for not at all (R2).
pub(super) fn again(
    attempt: &Attempt<'_>,
    number: u32,
    retries: &Retries,
    method: &Method,
    used_for: Use,
) -> Option<Duration> {
    if number >= retries.times {
        return None;
    }
    let asked = match attempt {
        Attempt::Answered(code, headers) => {
            let is_asked_for = *code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error();
            retry_after(headers).filter(|_| is_asked_for)?
        }
        Attempt::Failed(error) => {
            let may_retry = match used_for {
                Use::Exchange => method == Method::GET && error.is_lost(),
                Use::Watch => error.is_lost() || error.is_connect_timeout(),
                Use::Stream => false,
            };
            match may_retry {
                true => Duration::from_secs(1),
                false => return None,
            }
        }
    };
    Some(asked.max(retries.backoff.map_or(Duration::ZERO, |backoff| backoff.after(number))))
}

/// What `Retry-After` says in seconds. Dates are not understood, as in client-go.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_asks_for_another_attempt_with_a_header() {
        let with = HeaderMap::from_iter([(RETRY_AFTER, "3".parse().unwrap())]);
        let dated = HeaderMap::from_iter([(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT".parse().unwrap())]);
        let retries = Retries::default();
        for (code, headers, number, expected) in [
            (429, &with, 0, Some(3)),
            (503, &with, 9, Some(3)),
            (503, &with, 10, None),
            (500, &with, 0, Some(3)),
            (503, &HeaderMap::new(), 0, None),
            (429, &dated, 0, None),
            (404, &with, 0, None),
            (200, &with, 0, None),
        ] {
            let attempt = Attempt::Answered(StatusCode::from_u16(code).unwrap(), headers);
            let found = again(&attempt, number, &retries, &Method::POST, Use::Exchange);
            assert_eq!(found, expected.map(Duration::from_secs), "{code} {number}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff { first: Duration::from_secs(1), most: Duration::from_secs(5) };
        let retries = Retries { times: 10, backoff: Some(backoff) };
        let headers = HeaderMap::from_iter([(RETRY_AFTER, "2".parse().unwrap())]);
        let waits: Vec<u64> = (0..5)
            .filter_map(|number| {
                let attempt = Attempt::Answered(StatusCode::SERVICE_UNAVAILABLE, &headers);
                again(&attempt, number, &retries, &Method::GET, Use::Exchange)
            })
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [2, 2, 4, 5, 5]);
    }
}
