//! Probe: one small request that shows whether the API server answers.
//!
//! Any answer but a server error counts: a refusal comes from a server that is there, while 502 and 503 come from the load
//! balancer before one that is not.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use http::Request;
use tokio::time::{sleep, timeout};
use watchkeeper_client::transport::{Body, Transport, TransportError};

use super::PROBE_TIMEOUT;

/// What is asked for: small, and served to everybody.
const PATH: &str = "/version";
/// How long a pooled connection may take before a new one is tried beside it.
const HEDGE_AFTER: Duration = Duration::from_secs(1);
/// How often a server that is away is probed.
const RETURN_EVERY: Duration = Duration::from_millis(500);

/// A server that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    /// On a connection that others use, too.
    Pooled,
    /// Only on a new connection: those that there were are silent.
    NewConnection,
}

#[derive(Debug, Clone, Copy)]
enum Over {
    Pooled,
    NewConnection,
}

/// Whether the server answers within [`PROBE_TIMEOUT`]; if not, why.
pub(super) async fn probe(transport: &Transport) -> Result<Answered, Arc<str>> {
    let mut pooled = Box::pin(ask(transport, Over::Pooled));
    let silent = match timeout(HEDGE_AFTER, &mut pooled).await {
        Ok(Ok(())) => return Ok(Answered::Pooled),
        Ok(Err(_)) => false, // the connection may have been lost for reasons of its own
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
    timeout(rest, either).await.unwrap_or_else(|_| Err(no_answer()))
}

/// Returns once the server answers. A probe begins every [`RETURN_EVERY`], however long the ones before it take, so that
/// none waits for packets that were lost. `failed` is called with the reason of each that fails.
pub(super) async fn returned(transport: &Transport, mut failed: impl FnMut(Arc<str>)) {
    let mut probes = FuturesUnordered::new();
    loop {
        probes.push(async {
            let answer = timeout(PROBE_TIMEOUT, ask(transport, Over::NewConnection)).await;
            answer.unwrap_or_else(|_| Err(no_answer()))
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
    while let Ok(Some(_)) = body.chunk().await {} // read to its end, so that the connection can be used again
    match status.is_server_error() {
        true => Err(format!("it answers with {status}").into()),
        false => Ok(()),
    }
}

fn no_answer() -> Arc<str> {
    format!("no answer within {}s", PROBE_TIMEOUT.as_secs()).into()
}

/// In few words, and without addresses: everybody can read it on `/readyz`.
fn reason(error: &TransportError) -> Arc<str> {
    match error {
        error if error.is_connection_refused() => "connection refused".into(),
        error if error.is_lost() => "connection lost".into(),
        TransportError::Connect(_) => "cannot connect".into(),
        TransportError::Auth(_) => "no credentials".into(),
        error => error.to_string().into(),
    }
}
