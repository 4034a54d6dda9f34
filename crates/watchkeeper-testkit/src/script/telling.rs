//! Telling: the lines of an answer as a stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use tokio::time::sleep;
use watchkeeper_core::{ListStream, WatchFuture};

use super::answer::Line;
use super::{List, Script, Watch};

/// How many requests are going on.
#[derive(Debug, Default)]
pub(super) struct Open(AtomicUsize);

/// A request that is going on as long as this is.
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
    tell(script, list.into_lines())
}

pub(super) fn watch(script: &Script, watch: Watch) -> WatchFuture {
    let stream = tell(script, watch.into_lines());
    Box::pin(async move { Ok(stream) })
}

fn tell<T, E>(script: &Script, lines: Vec<Line<T, E>>) -> stream::BoxStream<'static, Result<T, E>>
where
    T: Send + 'static,
    E: Send + 'static,
{
    let state = (lines.into_iter(), script.clone(), script.open.one());
    stream::unfold(state, |(mut lines, script, counted)| async move {
        loop {
            match lines.next()? {
                Line::Say(said) => return Some((Ok(said), (lines, script, counted))),
                Line::Wait(time) => sleep(time).await,
                // An error is the last thing that a stream yields.
                Line::Fail(error) => return Some((Err(error), (Vec::new().into_iter(), script, counted))),
                Line::Stall => {
                    script.stalls();
                    std::future::pending::<()>().await;
                }
            }
        }
    })
    .boxed()
}
