//! Progress: whether a client reads its response, judged by the pieces of the body that are written.
//!
//! Input: [`Metered`](crate::metered::Metered), which hands over pieces of a body and knows when they are written.
//! Output: [`unless_stalled`], which ends a response whose client has stopped reading.
//!
//! Invariants:
//! - `progress.P1`: while a response waits for its handler, or for the budget, there is no timer: only a client that
//!   has something to read can stall.
//! - `progress.P2`: every piece that is written counts as progress. Pieces are at most
//!   [`PIECE_BYTES`](crate::metered::PIECE_BYTES) long.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use http::{Method, Uri};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::budget::Budget;

tokio::task_local! {
    /// The progress of the response that this task sends.
    pub(crate) static CURRENT: Arc<Progress>;
}

/// Progress of a client in reading a response.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    request: Mutex<Option<(Method, Uri)>>,
    /// Changes whenever something is asked for or has been written (`progress.P2`).
    steps: AtomicU64,
    /// Bytes that were handed over and are not written.
    unread: AtomicUsize,
    /// Whether something was handed over and nothing has been asked for since.
    is_offered: AtomicBool,
    /// Woken when everything is written.
    written: AtomicWaker,
}

impl Progress {
    /// Records the request of the response. An HTTP/1.1 connection has one after the other.
    pub(crate) fn begin(&self, method: &Method, uri: &Uri) {
        *self.request.lock() = Some((method.clone(), uri.clone()));
    }

    /// Records that the connection polls for the next piece, or drops the body.
    pub(crate) fn asked(&self) {
        self.is_offered.store(false, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a piece was handed over. `metered` bytes of it will be reported as [`written`](Self::written).
    pub(crate) fn offered(&self, metered: usize) {
        self.is_offered.store(true, Ordering::Relaxed);
        self.unread.fetch_add(metered, Ordering::AcqRel);
    }

    /// Records that a piece was written, or dropped.
    pub(crate) fn written(&self, bytes: usize) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        if self.unread.fetch_sub(bytes, Ordering::AcqRel) == bytes {
            self.written.wake();
        }
    }

    pub(crate) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Acquire) > 0
    }

    /// Waits until everything that was handed over is written.
    pub(crate) fn poll_written(&self, context: &mut Context<'_>) -> Poll<()> {
        self.written.register(context.waker());
        if self.has_unread() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn waits_for_client(&self) -> bool {
        self.is_offered.load(Ordering::Relaxed) || self.has_unread()
    }

    fn report(&self, client: SocketAddr, stalled: Duration) {
        let request = self.request.lock().take();
        let (method, path) = request.as_ref().map_or(("", ""), |(method, uri)| (method.as_str(), uri.path()));
        let unread_bytes = self.unread.load(Ordering::Relaxed);
        tracing::warn!(
            %client, method, path, unread_bytes,
            "slow reader disconnected: it read nothing of the response for {stalled:.0?}"
        );
    }
}

/// Maximum times for which a client may read nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StallTimeouts {
    /// Normally.
    pub(crate) stall: Duration,
    /// While the budget is used up and others wait for it.
    pub(crate) scarce: Duration,
}

/// Runs a future that sends responses, and drops it when the client has stopped reading: then it logs why and
/// returns `None`.
pub(crate) async fn unless_stalled<F: Future>(
    future: F,
    progress: Arc<Progress>,
    timeouts: StallTimeouts,
    budget: Budget,
    client: SocketAddr,
) -> Option<F::Output> {
    let mut future = pin!(CURRENT.scope(progress.clone(), future));
    let check_every = timeouts.scarce.min(timeouts.stall);
    let mut timer = None;
    let (mut since, mut steps) = (Instant::now(), 0);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if !progress.waits_for_client() {
            timer = None; // progress.P1
            return Poll::Pending;
        }
        let timer = timer.get_or_insert_with(|| {
            since = Instant::now();
            Box::pin(sleep(check_every))
        });
        loop {
            let now_steps = progress.steps.load(Ordering::Relaxed);
            if now_steps != steps {
                (since, steps) = (Instant::now(), now_steps); // progress.P2
                timer.as_mut().reset(since + check_every);
            }
            ready!(timer.as_mut().poll(context));
            if progress.steps.load(Ordering::Relaxed) != steps {
                continue;
            }
            let stalled = since.elapsed();
            if stalled >= timeouts.stall || (stalled >= timeouts.scarce && budget.is_used_up()) {
                progress.report(client, stalled);
                return Poll::Ready(None);
            }
            let left = timeouts.stall.saturating_sub(stalled);
            timer.as_mut().reset(Instant::now() + check_every.min(left));
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metered::{Metered, PIECE_BYTES};
    use bytes::Bytes;
    use http_body::{Body, Frame, SizeHint};
    use std::convert::Infallible;
    use std::pin::Pin;

    const TIMEOUTS: StallTimeouts =
        StallTimeouts { stall: Duration::from_secs(60), scarce: Duration::from_secs(5) };

    /// Returns its bytes in one piece, after a delay.
    struct Slow(Pin<Box<tokio::time::Sleep>>, Option<Bytes>);

    impl Body for Slow {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            ready!(self.0.as_mut().poll(context));
            Poll::Ready(self.1.take().map(|bytes| Ok(Frame::data(bytes))))
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::default()
        }
    }

    /// Sends a body of some pieces, reading a piece every `reads_every`; returns how long it took if it was sent.
    async fn send(
        pieces: usize,
        handler: Duration,
        reads_every: Duration,
        budget: Budget,
    ) -> Option<Duration> {
        let (begun, progress) = (Instant::now(), Arc::<Progress>::default());
        let bytes = Bytes::from(vec![0; pieces * PIECE_BYTES]);
        let body = Slow(Box::pin(sleep(handler)), Some(bytes));
        let mut body = Metered::new(body, budget.clone(), None, progress.clone(), true);
        let sending = async {
            while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
                let piece = frame.unwrap().into_data().unwrap();
                sleep(reads_every).await;
                drop(piece);
            }
        };
        let client = ([127, 0, 0, 1], 1).into();
        unless_stalled(sending, progress, TIMEOUTS, budget, client).await.map(|()| begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_client_without_progress_is_disconnected() {
        let (handler, budget) = (Duration::from_secs(600), Budget::limited(1 << 30, 1 << 30));
        let sent = send(4, handler, Duration::from_secs(59), budget.clone()).await;
        assert_eq!(sent.map(|took| took.as_secs()), Some(600 + 4 * 59), "progress.P1, progress.P2");
        let begun = Instant::now();
        assert!(send(4, handler, Duration::from_secs(61), budget.clone()).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 660);
        assert_eq!(budget.used(), 0, "budget.B1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_disconnected_sooner_while_others_wait_for_the_budget() {
        let budget = Budget::limited(PIECE_BYTES, 1 << 30);
        let begun = Instant::now();
        assert!(send(1, Duration::ZERO, Duration::from_secs(50), budget.clone()).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 5);
        assert!(send(1, Duration::ZERO, Duration::from_secs(4), budget).await.is_some());
    }
}
