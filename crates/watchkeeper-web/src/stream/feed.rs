//! Feed: a subscription that has begun: the changes of an informer, in the form that was asked for.

use std::sync::Arc;
use std::task::Waker;

use watchkeeper_cache::Informer;
use watchkeeper_cache::delta::{Delta, Transient};
use watchkeeper_cache::handler::{Filter, Resync, Subscription, SubscriptionOptions};
use watchkeeper_client::discovery::Mapping;
use watchkeeper_core::{Object, ObjectKey};

use super::BATCH;
use super::message::What;
use super::rows::Rows;
use super::subscription::Form;
use super::whole::Whole;
use crate::catalog::Watched;

/// Changes of an informer.
#[derive(Debug)]
pub(super) struct Feed {
    watched: Watched,
    options: SubscriptionOptions,
    shape: Shape,
    changes: Subscription,
    /// How many objects its reader has been told of; `None` once he was told that these were all.
    initial: Option<usize>,
}

/// How objects are written.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// As rows of this table.
    Rows(Arc<Rows>),
    /// Whole.
    Objects(Arc<Whole>),
}

/// What a feed has.
#[derive(Debug)]
pub(super) enum Taken {
    /// Nothing, for now.
    Nothing,
    /// Changes, to be [written](Changes::write).
    Changes(Changes),
    /// All of the initial content was taken: so many objects.
    Synced(usize),
    /// Its informer has ended.
    Ended,
}

/// Changes that were taken, at most [`BATCH`].
#[derive(Debug)]
pub(super) struct Changes {
    shape: Shape,
    now: Vec<Arc<Object>>,
    gone: Vec<ObjectKey>,
}

impl Feed {
    pub(super) fn new(watched: Watched, filter: Filter, shape: Shape, waker: Waker) -> Self {
        let options = SubscriptionOptions {
            filter,
            name: "stream".to_owned(),
            resync: Resync::Never,
            transient: Transient::Skip, // the page has no use for a row that it never had
            waker: Some(waker),
        };
        let changes = watched.informer.subscribe(options.clone());
        Self { watched, options, shape, changes, initial: Some(0) }
    }

    /// Begins from the beginning.
    pub(super) fn again(&mut self) {
        self.changes = self.watched.informer.subscribe(self.options.clone());
        self.initial = Some(0);
    }

    pub(super) fn mapping(&self) -> &Arc<Mapping> {
        &self.watched.mapping
    }

    pub(super) fn informer(&self) -> &Informer {
        &self.watched.informer
    }

    /// The columns that are to be told first, if it has rows.
    pub(super) fn columns(&self) -> Option<What> {
        match &self.shape {
            Shape::Rows(rows) => Some(What::Columns(rows.columns())),
            Shape::Objects(_) => None,
        }
    }

    pub(super) fn take(&mut self) -> Taken {
        let Some(deltas) = self.changes.take(BATCH) else { return Taken::Ended };
        if deltas.is_empty() {
            return match self.initial {
                Some(count) if self.changes.is_caught_up() => {
                    self.initial = None;
                    Taken::Synced(count)
                }
                _ => Taken::Nothing,
            };
        }
        let mut changes =
            Changes { shape: self.shape.clone(), now: Vec::with_capacity(deltas.len()), gone: Vec::new() };
        for delta in deltas {
            if let Some(initial) = &mut self.initial {
                match &delta {
                    Delta::Added { .. } => *initial += 1,
                    Delta::Deleted { .. } => *initial = initial.saturating_sub(1),
                    Delta::Updated { .. } | Delta::Resync(_) => {}
                }
            }
            changes.add(delta);
        }
        Taken::Changes(changes)
    }
}

impl Changes {
    fn add(&mut self, delta: Delta<Arc<Object>>) {
        match delta {
            Delta::Added { new, .. } | Delta::Updated { new, .. } | Delta::Resync(new) => {
                // What has taken the place of another comes right after it, and then replaces it.
                self.gone.pop_if(|key| key == new.head.key());
                self.now.push(new);
            }
            Delta::Deleted { old, .. } => self.gone.push(old.head.key().clone()),
        }
    }

    /// Takes long, where rows have to be made.
    pub(super) fn write(self) -> What {
        let (form, now) = match &self.shape {
            Shape::Rows(rows) => (Form::Row, rows.of(&self.now)),
            Shape::Objects(whole) => {
                (Form::Object, self.now.iter().map(|object| whole.write(object)).collect())
            }
        };
        What::Changed { form, now, gone: self.gone }
    }
}
