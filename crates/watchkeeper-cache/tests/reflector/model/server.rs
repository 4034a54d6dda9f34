//! The model server: serves lists and watches of the world, with random failures.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use watchkeeper_core::{
    Bookmark, ListAt, ListError, ListMeta, ListPart, ListRequest, ListStream, ListWatch, Status, WatchError,
    WatchEvent, WatchFrom, WatchFuture, WatchRequest, WatchStream,
};
use watchkeeper_testkit::script::object;

use super::world::{State, World};

/// A server of the world.
#[derive(Clone)]
pub(super) struct Model(pub(super) Arc<Mutex<World>>);

impl Model {
    /// Waits for a random time, in which the world can change.
    async fn dawdle(&self) {
        let pause = self.0.lock().roll(40);
        sleep(Duration::from_millis(pause)).await;
    }

    async fn send_list(self, request: ListRequest, out: mpsc::Sender<Result<ListPart, ListError>>) {
        self.dawdle().await;
        let begun = {
            let mut world = self.0.lock();
            let failed = match request.at {
                ListAt::Page(_) if world.fails(3) => Err(Status::expired("too old").into()),
                _ if world.fails(4) => Err(world.list_error()),
                _ => world.list_from(&request),
            };
            failed.map(|(version, from)| (version, from, world.state(version)))
        };
        let (version, from, state) = match begun {
            Ok(begun) => begun,
            Err(error) => return drop(out.send(Err(error)).await),
        };
        let counts = request.at != ListAt::Any || self.0.lock().paged;
        let limit = request.limit.filter(|_| counts).map_or(usize::MAX, |limit| limit.get() as usize);
        for (key, version) in state.iter().skip(from).take(limit) {
            self.dawdle().await;
            let exit = {
                let mut world = self.0.lock();
                let fails = world.fails(40);
                fails.then(|| (world.roll(2) == 0).then(|| world.list_error()))
            };
            match exit {
                Some(None) => return, // interrupted
                Some(Some(error)) => return drop(out.send(Err(error)).await),
                None => drop(out.send(Ok(ListPart::Item(object(key, *version)))).await),
            }
        }
        let left = state.len().saturating_sub(from.saturating_add(limit));
        let end = ListMeta {
            resource_version: version.into(),
            continue_token: (left > 0).then(|| format!("{version}/{}", from + limit)),
            remaining_item_count: (left > 0).then_some(left as u64),
            ..ListMeta::default()
        };
        drop(out.send(Ok(ListPart::End(end))).await);
    }

    /// Returns the version at which a watch starts, and its initial state.
    fn open(&self, from: &WatchFrom) -> Result<(u64, Option<State>), WatchError> {
        let mut world = self.0.lock();
        if world.fails(4) {
            return Err(world.watch_error());
        }
        let newest = world.newest();
        let ahead = |version: u64| match version > newest {
            true => {
                let wait = Duration::from_secs(1);
                let status = Status::too_large_resource_version(&version.into(), &newest.into(), wait);
                Err(WatchError::from(status))
            }
            false => Ok(version),
        };
        match from {
            WatchFrom::After(version) => {
                let version = ahead(version.as_u64().unwrap())?;
                match version < world.oldest {
                    true => Err(Status::expired("too old").into()),
                    false => Ok((version, None)),
                }
            }
            WatchFrom::InitialEvents { not_older_than } => {
                let least = not_older_than.as_ref().map_or(newest, |version| version.as_u64().unwrap());
                let least = ahead(least)?.max(world.oldest);
                let version = world.between(least);
                Ok((version, Some(world.state(version))))
            }
        }
    }

    async fn send_events(
        self,
        mut version: u64,
        initial: Option<State>,
        until: Instant,
        out: mpsc::Sender<Result<WatchEvent, WatchError>>,
    ) {
        let mut streaming = initial.is_some();
        for (key, version) in initial.into_iter().flatten() {
            self.dawdle().await;
            if self.0.lock().fails(40) {
                return;
            }
            drop(out.send(Ok(WatchEvent::Added(object(&key, version)))).await);
        }
        let mut changed = self.0.lock().changed.subscribe();
        loop {
            self.dawdle().await;
            let (event, wait) = {
                let mut world = self.0.lock();
                let bookmark = |initial_events_end| {
                    WatchEvent::Bookmark(Bookmark { version: version.into(), initial_events_end })
                };
                if world.fails(15) {
                    match world.roll(3) {
                        0 => return,                                  // closed by the server
                        1 => (None, true),                            // stalled
                        _ => (Some(Err(world.watch_error())), false), // failed
                    }
                } else if streaming && (version == world.newest() || world.roll(3) == 0) {
                    streaming = false;
                    (Some(Ok(bookmark(true))), false)
                } else if version < world.newest() {
                    version += 1;
                    (Some(Ok(world.event(version))), false)
                } else if world.roll(4) == 0 {
                    (Some(Ok(bookmark(false))), false)
                } else {
                    (None, false)
                }
            };
            match event {
                Some(event) => {
                    let failed = event.is_err();
                    if out.send(event).await.is_err() || failed {
                        return;
                    }
                }
                None if wait => return sleep_until(until).await,
                None => tokio::select! {
                    () = sleep_until(until) => return,
                    () = out.closed() => return,
                    seen = changed.wait_for(|newest| *newest > version) => if seen.is_err() { return },
                },
            }
        }
    }
}

impl ListWatch for Model {
    fn list(&self, request: ListRequest) -> ListStream {
        let (out, mut parts) = mpsc::channel(1);
        tokio::spawn(self.clone().send_list(request, out));
        Box::pin(stream::poll_fn(move |cx| parts.poll_recv(cx)))
    }

    fn watch(&self, request: WatchRequest) -> WatchFuture {
        let model = self.clone();
        Box::pin(async move {
            model.dawdle().await;
            let (version, initial) = model.open(&request.from)?;
            let until = Instant::now() + request.timeout.unwrap();
            let (out, mut events) = mpsc::channel(1);
            tokio::spawn(model.send_events(version, initial, until, out));
            Ok(Box::pin(stream::poll_fn(move |cx| events.poll_recv(cx))) as WatchStream)
        })
    }

    fn sends_initial_events(&self) -> bool {
        self.0.lock().initial_events
    }
}
