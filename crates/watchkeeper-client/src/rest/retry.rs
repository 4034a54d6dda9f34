//! Retries: which requests are retried, and when.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, StatusCode};
use watchkeeper_core::Backoff;

use crate::transport::TransportError;

/// Longest `Retry-After` that is honoured. A request whose server asks for more fails with
/// [`RequestError::RetryAfter`](super::RequestError::RetryAfter) immediately.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// A retry policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Maximum number of retries; 10 by default.
    pub max_retries: u32,
    /// Minimum wait before a retry; none by default. A longer `Retry-After` of the server takes precedence.
    pub backoff: Option<Backoff>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 10, backoff: None }
    }
}

impl RetryPolicy {
    /// No retries.
    pub const NONE: Self = Self { max_retries: 0, backoff: None };
}

/// The kind of a request, for retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Exchange,
    Stream,
    Watch,
}

/// The result of one attempt.
pub(super) enum Attempt<'a> {
    Responded(StatusCode, &'a HeaderMap),
    Failed(&'a TransportError),
}

/// Returns the wait before the next attempt; `None` if there is none (`rest.R2`).
pub(super) fn retry_delay(
    attempt: &Attempt<'_>,
    number: u32,
    policy: &RetryPolicy,
    method: &Method,
    used_for: Use,
) -> Option<Duration> {
    if number >= policy.max_retries {
        return None;
    }
    let delay = match attempt {
        Attempt::Responded(code, headers) => {
            let is_retriable = *code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error();
            retry_after(headers).filter(|_| is_retriable)?
        }
        Attempt::Failed(error) => {
            let may_retry = match used_for {
                Use::Exchange => method == Method::GET && error.is_lost(),
                Use::Watch => error.is_lost() || error.is_connect_timeout(),
                Use::Stream => false,
            };
            if !may_retry {
                return None;
            }
            Duration::from_secs(1)
        }
    };
    Some(delay.max(policy.backoff.map_or(Duration::ZERO, |backoff| backoff.delay(number, fastrand::f64()))))
}

/// Parses `Retry-After` in seconds. Dates are ignored, as in client-go.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_after_header_allows_a_retry() {
        let with = HeaderMap::from_iter([(RETRY_AFTER, "3".parse().unwrap())]);
        let dated = HeaderMap::from_iter([(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT".parse().unwrap())]);
        let policy = RetryPolicy::default();
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
            let attempt = Attempt::Responded(StatusCode::from_u16(code).unwrap(), headers);
            let found = retry_delay(&attempt, number, &policy, &Method::POST, Use::Exchange);
            assert_eq!(found, expected.map(Duration::from_secs), "{code} {number}");
        }
    }

    #[test]
    fn backoff_doubles_up_to_the_longest_wait() {
        let (base, cap) = (Duration::from_secs(1), Duration::from_secs(5));
        let backoff = Backoff { base, cap, jitter: 0.0, ..Backoff::default() };
        let policy = RetryPolicy { max_retries: 10, backoff: Some(backoff) };
        let headers = HeaderMap::from_iter([(RETRY_AFTER, "2".parse().unwrap())]);
        let waits: Vec<u64> = (0..5)
            .filter_map(|number| {
                let attempt = Attempt::Responded(StatusCode::SERVICE_UNAVAILABLE, &headers);
                retry_delay(&attempt, number, &policy, &Method::GET, Use::Exchange)
            })
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [2, 2, 4, 5, 5]);
    }
}
