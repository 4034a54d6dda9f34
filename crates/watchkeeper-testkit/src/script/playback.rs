//! Playback: the steps of a response as a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use tokio::time::sleep;
use watchkeeper_core::{ListStream, WatchFuture};

use super::response::Step;
use super::{List, Script, Watch};

/// Number of requests in flight.
#[derive(Debug, Default)]
pub(super) struct Open(AtomicUsize);

/// A request in flight; dropping it ends it.
pub(super) struct Counted(Arc<Open>);

impl Open {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn one(self: &Arc<Self>) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn list(script: &Script, list: List) -> ListStream {
    play(script, list.into_steps())
}

pub(super) fn watch(script: &Script, watch: Watch) -> WatchFuture {
    let stream = play(script, watch.into_steps());
    Box::pin(async move { Ok(stream) })
}

fn play<T, E>(script: &Script, steps: Vec<Step<T, E>>) -> stream::BoxStream<'static, Result<T, E>>
where
    T: Send + 'static,
    E: Send + 'static,
{
    let state = (steps.into_iter(), script.clone(), script.open.one());
    stream::unfold(state, |(mut steps, script, counted)| async move {
        loop {
            match steps.next()? {
                Step::Yield(item) => return Some((Ok(item), (steps, script, counted))),
                Step::Wait(time) => sleep(time).await,
                // An error ends the stream.
                Step::Fail(error) => return Some((Err(error), (Vec::new().into_iter(), script, counted))),
                Step::Stall => {
                    script.stalls();
                    std::future::pending::<()>().await;
                }
            }
        }
    })
    .boxed()
}
