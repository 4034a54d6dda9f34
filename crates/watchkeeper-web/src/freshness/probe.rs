//! Probe: a small request that shows whether the API server responds.
//!
//! Any response except a server error counts: a 401 or 403 comes from a live server, while 502 and 503 come from a load
//! balancer in front of a dead one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http::Request;
use tokio::time::{sleep, timeout};
use watchkeeper_client::transport::{Body, Transport, TransportError};

use super::PROBE_TIMEOUT;

/// Path of the probe: a small response, allowed for everyone.
const PATH: &str = "/version";
/// Time after which a new connection is tried besides the pooled one.
const HEDGE_AFTER: Duration = Duration::from_secs(1);
/// Interval of probes during an outage.
const RETURN_EVERY: Duration = Duration::from_millis(500);

/// The connection on which the server responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// A pooled connection.
    Pooled,
    /// Only a new connection: the pooled ones are silent.
    NewConnection,
}

#[derive(Debug, Clone, Copy)]
enum Over {
    Pooled,
    NewConnection,
}

/// Probes the server. Returns the reason if it does not respond within [`PROBE_TIMEOUT`].
pub(super) async fn probe(transport: &Transport) -> Result<Answered, Arc<str>> {
    let mut pooled = Box::pin(ask(transport, Over::Pooled));
    let silent = match timeout(HEDGE_AFTER, &mut pooled).await {
        Ok(Ok(())) => return Ok(Answered::Pooled),
        Ok(Err(_)) => false, // only this connection may have been lost
        Err(_) => true,
    };
    let rest = PROBE_TIMEOUT.saturating_sub(HEDGE_AFTER);
    let either = async {
        let new = ask(transport, Over::NewConnection);
        if !silent {
            return new.await.map(|()| Answered::Pooled);
        }
        tokio::select! {
            biased;
            Ok(()) = &mut pooled => Ok(Answered::Pooled),
            answer = new => answer.map(|()| Answered::NewConnection),
        }
    };
    timeout(rest, either).await.unwrap_or_else(|_| Err(no_response()))
}

/// Returns once the server responds. Starts a probe every [`RETURN_EVERY`] regardless of earlier ones, so that lost
/// packets do not delay it. Calls `failed` with the reason of each failed probe.
pub(super) async fn returned(transport: &Transport, mut failed: impl FnMut(Arc<str>)) {
    let mut probes = FuturesUnordered::new();
    loop {
        probes.push(async {
            let answer = timeout(PROBE_TIMEOUT, ask(transport, Over::NewConnection)).await;
            answer.unwrap_or_else(|_| Err(no_response()))
        });
        let mut next = std::pin::pin!(sleep(RETURN_EVERY));
        loop {
            tokio::select! {
                () = &mut next => break,
                Some(answer) = probes.next() => match answer {
                    Ok(()) => return,
                    Err(reason) => failed(reason),
                },
            }
        }
    }
}

async fn ask(transport: &Transport, over: Over) -> Result<(), Arc<str>> {
    let request = Request::get(PATH).body(Body::empty()).expect("a path is a URI");
    let sent = match over {
        Over::Pooled => transport.send(request).await,
        Over::NewConnection => transport.send_on_new_connection(request).await,
    };
    let answer = sent.map_err(|error| reason(&error))?;
    let status = answer.status();
    let mut body = answer.into_body();
    while let Ok(Some(_)) = body.chunk().await {} // read to the end, so that the connection can be reused
    if status.is_server_error() { Err(format!("server responded with {status}").into()) } else { Ok(()) }
}

fn no_response() -> Arc<str> {
    format!("no response within {}s", PROBE_TIMEOUT.as_secs()).into()
}

/// Describes an error briefly and without addresses, since `/readyz` is public.
fn reason(error: &TransportError) -> Arc<str> {
    match error {
        error if error.is_connection_refused() => "connection refused".into(),
        error if error.is_lost() => "connection lost".into(),
        TransportError::Connect(_) => "failed to connect".into(),
        TransportError::Auth(_) => "no credentials".into(),
        error => error.to_string().into(),
    }
}
